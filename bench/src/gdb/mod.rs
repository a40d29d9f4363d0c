//! A breakpoint of gdb whose condition is false, by gdb itself and through servers.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, ensure};
use gdbserver::Server;
use tempfile::TempDir;

use crate::options::Options;

const SOURCE: &str = include_str!("loop.c");

/// Measures the time of a call of a program that calls a number of times, in nanoseconds.
type Debugger = fn(&Path, calls: u32) -> Result<f64>;

/// The debuggers, each with the number of calls of a round.
const DEBUGGERS: &[(&str, Debugger, u32)] = &[
    (GDB, by_gdb, 5_000),
    (PEER, by_gdbserver, 10_000),
    (OURS, by_ntrace, 10_000_000),
    ("ntrace count --if, at a line", by_command, 10_000_000),
    ("no debugger", alone, 100_000_000),
];
const GDB: &str = "gdb";
const PEER: &str = "gdb with gdbserver";
const OURS: &str = "gdb with ntrace gdbserver";

/// Runs the benchmark.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = build(&folder)?;
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| name.contains(only));
    let debuggers: Vec<_> = DEBUGGERS.iter().filter(|(name, ..)| wanted(name)).collect();
    let mut times: Vec<Vec<Result<f64>>> = debuggers.iter().map(|_| Vec::new()).collect();
    for _ in 0..options.rounds.max(1) {
        for ((_, measure, calls), times) in debuggers.iter().zip(&mut times) {
            times.push(measure(&program, *calls));
        }
    }
    println!("\n{:<40}{:>14}{:>12}{:>12}", "a call whose condition is false", "ns", "of gdb", "calls");
    let medians: Vec<Result<f64>> = times.into_iter().map(median).collect();
    let of = |wanted: &str| {
        debuggers.iter().zip(&medians).find(|((name, ..), _)| *name == wanted).and_then(|(_, time)| time.as_ref().ok())
    };
    for ((name, _, calls), median) in debuggers.iter().zip(&medians) {
        match median {
            Ok(time) => {
                let ratio = of(GDB).map_or_else(String::new, |gdb| format!("1/{:.0}", gdb / time));
                println!("{name:<40}{time:>14.1}{ratio:>12}{calls:>12}");
            }
            Err(error) => println!("{name:<40}   SKIPPED: {error:#}"),
        }
    }
    if let (Some(gdb), Some(peer), Some(ours)) = (of(GDB), of(PEER), of(OURS)) {
        println!("aim: 1/500 of gdb: 1/{:.0}; 1/50 of gdbserver: 1/{:.0}", gdb / ours, peer / ours);
    }
    Ok(())
}

/// The median, or the first failure.
fn median(times: Vec<Result<f64>>) -> Result<f64> {
    let mut times = times.into_iter().collect::<Result<Vec<f64>>>()?;
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().context("no round")
}

fn build(folder: &TempDir) -> Result<PathBuf> {
    let path = folder.path().join("loop");
    let mut command = Command::new("gcc");
    command.args(["-g", "-O0", "-x", "c", "-", "-o"]).arg(&path);
    let mut gcc = command.stdin(Stdio::piped()).spawn().context("gcc")?;
    gcc.stdin.take().context("a pipe")?.write_all(SOURCE.as_bytes())?;
    let status = gcc.wait()?;
    ensure!(status.success(), "gcc: {status}");
    Ok(path)
}

fn alone(program: &Path, calls: u32) -> Result<f64> {
    time(Command::new(program).arg(calls.to_string()))
}

fn by_gdb(program: &Path, calls: u32) -> Result<f64> {
    debug(program, &[&format!("set args {calls}"), BREAK, "run"])
}

fn by_gdbserver(program: &Path, calls: u32) -> Result<f64> {
    let target = format!("target remote | gdbserver --once - {} {calls}", program.display());
    debug(program, &[&target, BREAK, "continue"])
}

fn by_ntrace(program: &Path, calls: u32) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket)?;
    std::thread::scope(|scope| {
        let serve = || -> Result<()> {
            let mut server = Server::new()?;
            let mut command = Command::new(program);
            // The program's time goes where gdb's own output does.
            command.arg(calls.to_string()).stderr(std::fs::File::create(folder.path().join("time"))?);
            server.spawn(command)?;
            let connection = OwnedFd::from(listener.accept()?.0);
            Ok(server.serve(connection.try_clone()?, connection)?)
        };
        let server = scope.spawn(serve);
        let run = gdb(program, &[&format!("target remote {}", socket.display()), BREAK, "continue"]).output();
        // If gdb did not connect, this ends the server's wait.
        drop(UnixStream::connect(&socket));
        run.context("gdb is needed")?;
        server.join().map_err(|_| anyhow!("the server panicked"))??;
        parse(&std::fs::read_to_string(folder.path().join("time"))?)
    })
}

/// The command, with a condition on a variable at a line. `cargo xtask bench` builds it.
fn by_command(program: &Path, calls: u32) -> Result<f64> {
    let ntrace = std::env::var_os("NTRACE_COMMAND").context("NTRACE_COMMAND names no ntrace")?;
    let mut command = Command::new(ntrace);
    let line = SOURCE.lines().position(|line| line.contains("sum += local")).context("the line")? + 1;
    // The source comes from a pipe, which gcc calls so.
    command.args(["count", "-b", &format!("<stdin>:{line}"), "--if", "local == -1", "--"]);
    time(command.arg(program).arg(calls.to_string()))
}

const BREAK: &str = "break work if i == -1";

fn debug(program: &Path, commands: &[&str]) -> Result<f64> {
    time(&mut gdb(program, commands))
}

/// gdb with commands, and without questions.
fn gdb(program: &Path, commands: &[&str]) -> Command {
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "-nx", "-batch", "-ex", "set sysroot /"]);
    for line in commands {
        gdb.args(["-ex", line]);
    }
    gdb.arg(program).stdin(Stdio::null());
    gdb
}

/// Runs a command, and returns the time that the program prints.
fn time(command: &mut Command) -> Result<f64> {
    let output = command.output().with_context(|| format!("{} is needed", command.get_program().to_string_lossy()))?;
    parse(&String::from_utf8_lossy(&output.stderr))
}

fn parse(text: &str) -> Result<f64> {
    let time = text.lines().find_map(|line| line.strip_prefix("a call: ")?.strip_suffix(" ns"));
    Ok(time.with_context(|| format!("the program did not run to its end: {text}"))?.parse()?)
}
