//! Helpers for the tests of the command: they run `ntrace`, and build programs with the system's compilers.
// Each test program uses only some of the helpers.
#![allow(dead_code, unreachable_pub)]

pub(crate) mod explain;
#[cfg(target_arch = "aarch64")]
#[path = "arm64.rs"]
pub(crate) mod machine;
#[cfg(target_arch = "x86_64")]
#[path = "x86.rs"]
pub(crate) mod machine;
pub(crate) mod running;
pub(crate) mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// The command under test.
pub(crate) fn ntrace() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ntrace"))
}

/// Runs the command to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    ntrace().args(args).stdin(Stdio::null()).output().expect("ntrace runs")
}

/// Standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns a path that no other test uses.
pub(crate) fn scratch(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}-{name}", std::process::id()))
}

/// Returns the path of a test program's source.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Builds a program. Returns `None` and reports a skipped test if this machine's compiler cannot.
pub(crate) fn build_with(compiler: &str, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let out = scratch(&name.replace('.', "_"));
    let done = Command::new(compiler).arg(source(name)).arg("-o").arg(&out).args(flags).output();
    match done {
        Ok(done) if done.status.success() => Some(out),
        Ok(done) => {
            let error = String::from_utf8_lossy(&done.stderr);
            crossing::skip(
                &format!("ntrace, with {name}"),
                format_args!("{compiler} {flags:?}: {}", error.lines().next().unwrap_or_default()),
            );
            None
        }
        Err(error) => {
            crossing::skip(&format!("ntrace, with {name}"), format_args!("{compiler}: {error}"));
            None
        }
    }
}

/// Builds a program with Go. Returns `None` and reports a skipped test if there is no Go or it cannot.
pub(crate) fn build_go(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let out = scratch(&name.replace('.', "_"));
    let done = Command::new("go").arg("build").args(flags).arg("-o").arg(&out).arg(source(name)).output();
    let why = match done {
        Ok(done) if done.status.success() => return Some(out),
        Ok(done) => String::from_utf8_lossy(&done.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    crossing::skip(&format!("ntrace, with {name}"), format_args!("go {flags:?}: {why}"));
    None
}

/// Builds a C program with gcc, which the build of ntrace itself needs.
pub(crate) fn build(name: &str, flags: &[&str]) -> PathBuf {
    build_with("gcc", name, &[&["-O1", "-g"], flags].concat()).expect("gcc builds the program")
}

/// Builds a 32-bit program. Returns `None` if the machine has no such programs. Reports a skipped test if its compiler cannot build them.
pub(crate) fn build_narrow(name: &str, flags: &[&str]) -> Option<PathBuf> {
    build_with("gcc", name, &[&[machine::NARROW?], flags].concat())
}

/// Returns the path of the machine's C library.
pub(crate) fn c_library() -> String {
    format!("/lib/{}-linux-gnu/libc.so.6", std::env::consts::ARCH)
}

/// The results of `ntrace count … --format json`: the hits by location, the program's output, and the exit status.
pub(crate) struct Counts {
    pub(crate) rows: Vec<Value>,
    pub(crate) total: u64,
    pub(crate) refused: Vec<Value>,
    pub(crate) output: Output,
}

/// Counts the hits of locations in a program.
pub(crate) fn count(locations: &[&str], flags: &[&str], program: &Path, args: &[&str]) -> Counts {
    count_by(ntrace(), locations, flags, program, args)
}

/// Counts with a prepared command.
pub(crate) fn count_by(
    mut command: Command,
    locations: &[&str],
    flags: &[&str],
    program: &Path,
    args: &[&str],
) -> Counts {
    let file = scratch("counts.json");
    command.arg("count").args(flags).args(["--format", "json", "-o"]).arg(&file);
    for location in locations {
        command.args(["-b", location]);
    }
    let output = command.arg("--").arg(program).args(args).stdin(Stdio::null()).output().expect("ntrace runs");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let table: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error} in {text:?}; standard error: {}", stderr(&output)));
    let array = |key| table[key].as_array().unwrap().clone();
    Counts { rows: array("counts"), refused: array("refused"), total: table["total"].as_u64().unwrap(), output }
}

impl Counts {
    /// Returns the hits of the location whose text ends with `end`.
    pub(crate) fn at(&self, end: &str) -> u64 {
        let ends = |row: &&Value| row["location"].as_str().unwrap().ends_with(end);
        let row = self.rows.iter().find(ends).unwrap_or_else(|| panic!("no {end} in {:?}", self.rows));
        row["hits"].as_u64().unwrap()
    }
}

/// Runs `ntrace trace … --format json`. Returns one value for each line.
pub(crate) fn trace(args: &[&str], program: &Path, program_args: &[&str]) -> (Vec<Value>, Output) {
    let file = scratch("trace.json");
    let mut command = ntrace();
    command.arg("trace").args(args).args(["--format", "json", "-o"]).arg(&file);
    let output = command.arg("--").arg(program).args(program_args).stdin(Stdio::null()).output().expect("ntrace runs");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    (lines, output)
}
