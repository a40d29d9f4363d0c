//! Whole runs of the command: by jumps beside breakpoint instructions, and beside another program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::options::Options;

/// Lines of the file that the traced pipeline reads.
const LINES: u32 = 2000;
/// The files of which the first one that exists is surveyed.
const SURVEYED: [&str; 3] = [
    "/usr/lib/llvm-14/lib/libLLVM-14.so.1",
    "/usr/lib/x86_64-linux-gnu/libLLVM.so.19.1",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
];

/// A command line, by its name.
type Row = (&'static str, Vec<String>);

/// Runs the benchmark.
pub(crate) fn run(options: &Options) -> Result<()> {
    let ntrace = std::env::var("NTRACE_COMMAND").context("NTRACE_COMMAND names no ntrace")?;
    let mut file = tempfile::NamedTempFile::new()?;
    for line in 0..LINES {
        writeln!(file, "{line} the quick brown fox jumps over the lazy dog")?;
    }
    file.flush()?;
    let pipeline = format!("tac {} | md5sum", file.path().display());
    let traced = |method: &str, output: &str| {
        let options = ["trace", "--method", method, "--every-instruction", "-o", output, "--", "sh", "-c", &pipeline];
        std::iter::once(ntrace.as_str()).chain(options).map(str::to_owned).collect::<Vec<_>>()
    };
    let rows = [
        ("trace --every-instruction --method trap", traced("trap", "/dev/null")),
        ("trace --every-instruction --method auto", traced("auto", "/dev/null")),
        ("undisturbed", ["sh", "-c", &pipeline].map(str::to_owned).to_vec()),
    ];
    compare(&format!("tac of {LINES} lines | md5sum"), &rows, options)?;
    println!("aim: by jumps 0.25 times the time by breakpoint instructions");
    let surveyed = SURVEYED.iter().map(PathBuf::from).find(|path| path.exists()).context("no file to survey")?;
    let path = surveyed.display().to_string();
    let rows = [
        ("objdump -d", vec!["objdump".to_owned(), "-d".to_owned(), path.clone()]),
        ("survey", vec![ntrace.clone(), "survey".to_owned(), path.clone()]),
    ];
    compare(&format!("{path}, {} MB", size(&surveyed)? / 1_000_000), &rows, options)?;
    println!("aim: libLLVM-14 in 1 s on 2 processors");
    Ok(())
}

fn size(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path)?.len())
}

/// Prints the medians of the rows' times, and their ratios to the first one.
fn compare(name: &str, rows: &[Row], options: &Options) -> Result<()> {
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..options.rounds.max(1) {
        for ((_, command), times) in rows.iter().zip(&mut times) {
            times.push(seconds(command)?);
        }
    }
    println!("\n{name:<64}{:>10}{:>10}{:>10}", "s", "least", "ratio");
    let mut first = None;
    for ((row, _), mut times) in rows.iter().zip(times) {
        times.sort_unstable_by(f64::total_cmp);
        let (median, least) = (times[times.len() / 2], times[0]);
        let ratio = median / *first.get_or_insert(median);
        println!("{row:<64}{median:>10.3}{least:>10.3}{ratio:>10.3}");
    }
    Ok(())
}

/// The time that a command takes.
fn seconds(command: &[String]) -> Result<f64> {
    let (program, args) = command.split_first().context("an empty command")?;
    let start = Instant::now();
    let status = Command::new(program)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("no {program}"))?;
    ensure!(status.success(), "{program}: {status}");
    Ok(start.elapsed().as_secs_f64())
}
