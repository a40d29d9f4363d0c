//! The time from the command line to the end of a short program whose function is traced, and the memory that it takes.

mod program;
mod tools;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use self::program::Program;
use self::tools::{TOOLS, Tool};
use crate::options::Options;

/// What one run took.
#[derive(Clone, Copy)]
struct Cost {
    milliseconds: f64,
    /// The largest resident set of one of the processes.
    mebibytes: f64,
}

/// Runs the benchmark.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let large = program::large(folder.path())?;
    let size = std::fs::metadata(&large.path)?.len() >> 20;
    let rows = [
        ("malloc in /bin/true".to_owned(), program::small()?),
        (format!("a function of a program of {size} MiB with debug information"), large),
    ];
    for (name, program) in rows {
        compare(&name, &program, options);
    }
    println!("aims: {} of /bin/true in 60 ms; the first hit of the large program in 1 s and 100 MiB", TOOLS[0].0);
    Ok(())
}

/// Runs all tools in rounds, one behind the other, and prints the medians.
fn compare(name: &str, program: &Program, options: &Options) {
    let is_wanted = |tool: &str| options.only.as_deref().is_none_or(|only| tool.contains(only));
    let mut all: Vec<(&Tool, Result<Vec<Cost>>)> =
        TOOLS.iter().filter(|(tool, _)| is_wanted(tool)).map(|tool| (tool, Ok(Vec::new()))).collect();
    for _ in 0..options.rounds.max(1) {
        for ((_, command), costs) in &mut all {
            if let Ok(known) = costs {
                match command(program).and_then(measure) {
                    Ok(cost) => known.extend(cost),
                    Err(error) => *costs = Err(error),
                }
            }
        }
    }
    println!("\n{name:<72}{:>10}{:>10}{:>12}", "ms", "MiB", "of ntrace");
    let mut ours = None;
    for ((tool, _), costs) in all {
        match costs {
            Ok(costs) if costs.is_empty() => {}
            Ok(costs) => {
                let Cost { milliseconds, mebibytes } = median(&costs);
                let ours = *ours.get_or_insert(milliseconds);
                println!("{tool:<72}{milliseconds:>10.1}{mebibytes:>10.1}{:>11.2}x", milliseconds / ours);
            }
            Err(error) => println!("{tool:<72}   SKIPPED: {error:#}"),
        }
    }
}

/// The medians of time and of memory.
fn median(costs: &[Cost]) -> Cost {
    let middle = |of: fn(&Cost) -> f64| {
        let mut values: Vec<f64> = costs.iter().map(of).collect();
        values.sort_unstable_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Cost { milliseconds: middle(|cost| cost.milliseconds), mebibytes: middle(|cost| cost.mebibytes) }
}

/// Runs a command to its end.
fn measure(command: Option<Command>) -> Result<Option<Cost>> {
    let Some(mut command) = command else { return Ok(None) };
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let child = command.spawn().with_context(|| format!("no {name}"))?;
    let mut status = 0;
    // SAFETY: zeroes are a value of this structure of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let number = i32::try_from(child.id()).context("a process number")?;
    // SAFETY: the child has not been waited for, and both places are live for writing.
    let waited = unsafe { libc::wait4(number, &mut status, 0, &mut usage) };
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    ensure!(waited == number, "wait4: {}", std::io::Error::last_os_error());
    let status = ExitStatus::from_raw(status);
    ensure!(status.success() || name == "frida-trace", "{name}: {status}");
    // The kernel counts in units of 1024 bytes.
    Ok(Some(Cost { milliseconds, mebibytes: usage.ru_maxrss as f64 / 1024.0 }))
}
