//! The tools that wait for a function.

use std::process::Command;

use anyhow::{Context, Result};

use super::program::Program;

/// A tool, and how it traces or counts the calls of a program's function. `None`: it cannot.
pub(super) type Tool = (&'static str, fn(&Program) -> Result<Option<Command>>);

/// All of them. The first is the one to which the others are compared.
pub(super) const TOOLS: &[Tool] = &[
    ("ntrace count", count),
    ("ntrace trace --locals, at a line", at_line),
    ("ltrace", ltrace),
    ("perf probe, perf stat", perf),
    ("bpftrace", bpftrace),
    ("frida-trace", frida),
    ("gdb", gdb),
    ("gdb, at a line", gdb_at_line),
    ("no tool", alone),
];

fn ntrace() -> Result<Command> {
    Ok(Command::new(std::env::var_os("NTRACE_COMMAND").context("NTRACE_COMMAND names no ntrace")?))
}

fn count(program: &Program) -> Result<Option<Command>> {
    let mut command = ntrace()?;
    command.args(["count", "-b", program.function, "--"]).arg(&program.path);
    Ok(Some(command))
}

fn at_line(program: &Program) -> Result<Option<Command>> {
    let Some(line) = program.line else { return Ok(None) };
    let mut command = ntrace()?;
    command.args(["trace", "-b", line, "--locals", "--"]).arg(&program.path);
    Ok(Some(command))
}

fn ltrace(program: &Program) -> Result<Option<Command>> {
    let mut command = Command::new("ltrace");
    command.args(["-o", "/dev/null", "-x", program.function]).arg(&program.path);
    Ok(Some(command))
}

fn perf(program: &Program) -> Result<Option<Command>> {
    let (module, function, path) = (program.module.display(), program.function, program.path.display());
    let script = format!(
        "perf probe -q -x {module} bench:start={function} && perf stat -e bench:start {path}; status=$?; \
         perf probe -q -d 'bench:*'; exit $status"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]);
    Ok(Some(command))
}

fn bpftrace(program: &Program) -> Result<Option<Command>> {
    let probe = format!("uprobe:{}:{} {{ @ = count(); }}", program.module.display(), program.function);
    let mut command = Command::new("bpftrace");
    command.args(["-e", &probe, "-c"]).arg(&program.path);
    Ok(Some(command))
}

fn frida(program: &Program) -> Result<Option<Command>> {
    let mut command = Command::new("frida-trace");
    command.args(["-q", if program.line.is_some() { "-s" } else { "-i" }, program.function, "-f"]).arg(&program.path);
    Ok(Some(command))
}

fn gdb(program: &Program) -> Result<Option<Command>> {
    Ok(Some(gdb_until(program, program.function)))
}

fn gdb_at_line(program: &Program) -> Result<Option<Command>> {
    Ok(program.line.map(|line| gdb_until(program, line)))
}

/// gdb until the first hit.
fn gdb_until(program: &Program, location: &str) -> Command {
    let mut command = Command::new("gdb");
    command.args(["-q", "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex"]);
    command.args([&format!("break {location}"), "-ex", "run", "-ex", "kill"]).arg(&program.path);
    command
}

fn alone(program: &Program) -> Result<Option<Command>> {
    Ok(Some(Command::new(&program.path)))
}
