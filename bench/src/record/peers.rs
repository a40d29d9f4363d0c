//! Other recorders, run as commands.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::program::Program;
use super::recorded::Recorded;

/// gdb's `record full`, which keeps registers and memory that an instruction changes, in its own memory.
pub(super) fn gdb(program: &Program, rounds: usize) -> Result<Recorded> {
    let mut command = Command::new("gdb");
    command.args(["-nx", "-batch"]);
    for line in ["set record full insn-number-max unlimited", "starti", "record full", "continue", "info record"] {
        command.args(["-ex", line]);
    }
    let start = Instant::now();
    let output = run(command.arg("--args").args(program.words(rounds)))?;
    let time = start.elapsed();
    let text = String::from_utf8_lossy(&output.stdout);
    let count = text.lines().find_map(|line| line.strip_prefix("Log contains ")?.split(' ').next());
    let instructions = count.with_context(|| format!("gdb recorded nothing: {text}"))?.parse()?;
    Ok(Recorded { time, instructions, bytes: None })
}

/// Lackey's text of all instructions, loads and stores. It does not run the program but a translation, in blocks.
pub(super) fn lackey(program: &Program, rounds: usize) -> Result<Recorded> {
    let trace = program.file("lackey");
    let mut log = std::ffi::OsString::from("--log-file=");
    log.push(&trace);
    let mut command = Command::new("valgrind");
    command.args(["--tool=lackey", "--trace-mem=yes"]).arg(log).args(program.words(rounds));
    let start = Instant::now();
    run(&mut command)?;
    let time = start.elapsed();
    let text = fs::read(&trace)?;
    let instructions = text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"I ")).count() as u64;
    Ok(Recorded { time, instructions, bytes: Some(text.len() as u64) })
}

fn run(command: &mut Command) -> Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{name} is needed"))?;
    ensure!(output.status.success(), "{name}: {}", output.status);
    Ok(output)
}
