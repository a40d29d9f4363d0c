//! The program that is recorded.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// Options that leave out libraries, and instructions that gdb's recorder does not know, such as AVX.
const SOURCE: &str = include_str!("work.c");
const FLAGS: [&str; 7] = ["-O1", "-fno-inline", "-fno-stack-protector", "-nostdlib", "-static", "-fno-pie", "-no-pie"];

/// The built program, in a folder of its own.
pub(super) struct Program {
    folder: TempDir,
}

impl Program {
    /// Builds the program with gcc.
    pub(super) fn build() -> Result<Program> {
        let program = Program { folder: tempfile::tempdir()? };
        let mut command = Command::new("gcc");
        command.args(FLAGS).args(["-x", "c", "-", "-o"]).arg(program.path());
        let mut gcc = command.stdin(Stdio::piped()).spawn().context("gcc")?;
        gcc.stdin.take().context("a pipe")?.write_all(SOURCE.as_bytes())?;
        let status = gcc.wait()?;
        ensure!(status.success(), "gcc: {status}");
        Ok(program)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// A path that a recorder may write.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Its path, and its arguments for the given number of rounds of work.
    pub(super) fn words(&self, rounds: usize) -> Vec<PathBuf> {
        std::iter::once(self.path()).chain((0..rounds).map(|_| PathBuf::from("round"))).collect()
    }

    /// The command that runs the program.
    pub(super) fn command(&self, rounds: usize) -> Command {
        let mut command = Command::new(self.path());
        command.args(self.words(rounds).into_iter().skip(1));
        command
    }
}
