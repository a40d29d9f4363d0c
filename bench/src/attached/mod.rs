//! The command, attached to a running program: what a call of a function takes by jumps beside breakpoint instructions.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::options::Options;

const SOURCE: &str = include_str!("calls.c");
/// The options of gcc, by the name of what they build.
const PROGRAMS: [(&str, &[&str]); 2] =
    [("PIE", &["-O1", "-g", "-pie", "-fPIE"]), ("no PIE", &["-O1", "-g", "-no-pie"])];
/// What the command does at each call.
const TRACES: [&[&str]; 5] =
    [&["count"], &["trace"], &["trace", "--args"], &["trace", "--stack"], &["trace", "--every-instruction"]];
/// The methods, and the first byte that each leaves in the code: that of `int3`, and that of `jmp`.
const METHODS: [(&str, u8); 2] = [("trap", 0xcc), ("jump", 0xe9)];
/// A pause between two looks at what another process does.
const PAUSE: Duration = Duration::from_millis(5);
/// Number of looks before the benchmark gives up.
const LOOKS: usize = 6000;

/// Runs the benchmark.
pub(crate) fn run(options: &Options) -> Result<()> {
    let ntrace = std::env::var("NTRACE_COMMAND").context("NTRACE_COMMAND names no ntrace")?;
    let folder = tempfile::tempdir()?;
    for (name, flags) in PROGRAMS {
        let program = build(folder.path(), flags)?;
        println!(
            "\n{:<48}{:>10}{:>10}{:>10}",
            format!("a call of a function, {name}"),
            "trap, ns",
            "jump, ns",
            "ratio"
        );
        for trace in TRACES {
            let [traps, jumps] = METHODS.map(|method| median(&ntrace, &program, trace, method, options));
            let (traps, jumps) = (traps?, jumps?);
            println!("{:<48}{traps:>10.1}{jumps:>10.1}{:>10.4}", format!("{} -p", trace.join(" ")), jumps / traps);
        }
    }
    Ok(())
}

fn build(folder: &Path, flags: &[&str]) -> Result<PathBuf> {
    let program = folder.join("calls");
    let mut gcc = Command::new("gcc");
    gcc.args(flags).args(["-x", "c", "-", "-o"]).arg(&program).stdin(Stdio::piped());
    let mut gcc = gcc.spawn().context("gcc")?;
    gcc.stdin.take().context("a pipe")?.write_all(SOURCE.as_bytes())?;
    let status = gcc.wait()?;
    ensure!(status.success(), "gcc: {status}");
    Ok(program)
}

fn median(ntrace: &str, program: &Path, trace: &[&str], method: (&str, u8), options: &Options) -> Result<f64> {
    let times = (0..options.rounds.max(1)).map(|_| nanoseconds(ntrace, program, trace, method));
    let mut times = times.collect::<Result<Vec<f64>>>()?;
    times.sort_unstable_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// The nanoseconds of one call while the command is attached.
fn nanoseconds(ntrace: &str, program: &Path, trace: &[&str], (method, opcode): (&str, u8)) -> Result<f64> {
    let mut traced = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(traced.stdout.take().context("a pipe")?).lines();
    let mut line = || lines.next().context("the program ended early")?.map_err(anyhow::Error::from);
    let work = u64::from_str_radix(line()?.trim_start_matches("0x"), 16)?;
    let mut command = Command::new(ntrace);
    command.args(trace).args(["--backend", "ptrace", "--method", method, "-b", "work", "-o", "/dev/null"]);
    let mut command = command.args(["-p", &traced.id().to_string()]).stderr(Stdio::null()).spawn()?;
    let patched = await_patch(&traced, work, opcode);
    if patched.is_ok() {
        traced.stdin.take().context("a pipe")?.write_all(b"x")?;
    } else {
        traced.kill()?;
    }
    let nanoseconds = line();
    traced.wait()?;
    command.wait()?;
    patched?;
    Ok(nanoseconds?.parse()?)
}

/// Waits until the function begins with this byte.
fn await_patch(traced: &Child, work: u64, opcode: u8) -> Result<()> {
    let memory = File::open(format!("/proc/{}/mem", traced.id()))?;
    for _ in 0..LOOKS {
        let mut byte = [0];
        memory.read_exact_at(&mut byte, work)?;
        if byte[0] == opcode {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    bail!("the command did not set its breakpoint")
}
