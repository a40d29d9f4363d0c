//! The cost of recording an instruction, in time and bytes.

mod ours;
mod peers;
mod program;
mod recorded;
mod stepping;

use anyhow::{Context, Result};

use crate::options::Options;
use program::Program;
use recorded::Recorded;

/// Records the program, which does the given number of rounds of work.
type Recorder = fn(&Program, usize) -> Result<Recorded>;

const RECORDERS: &[(&str, Recorder)] = &[
    ("ntrace record", ours::without_registers),
    ("ntrace record --registers", ours::with_registers),
    ("ptrace: step and read registers, no more", stepping::record),
    (BASE, peers::gdb),
    ("valgrind --tool=lackey --trace-mem=yes", peers::lackey),
];

/// The subject to which the ratios are.
const BASE: &str = "gdb, record full";

/// One round's figures of one recorder.
struct Figures {
    /// Per instruction.
    nanoseconds: f64,
    bytes: Option<f64>,
    instructions: u64,
}

/// Runs the benchmark.
pub(crate) fn run(options: &Options) -> Result<()> {
    let program = Program::build()?;
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| name.contains(only));
    let recorders: Vec<_> = RECORDERS.iter().filter(|(name, _)| wanted(name)).collect();
    let mut figures: Vec<Vec<Result<Figures>>> = recorders.iter().map(|_| Vec::new()).collect();
    for _ in 0..options.rounds.max(1) {
        for ((_, record), figures) in recorders.iter().zip(&mut figures) {
            figures.push(difference(&program, *record));
        }
    }
    let medians: Vec<Result<Figures>> = figures.into_iter().map(median).collect();
    let base = recorders.iter().zip(&medians).find(|((name, _), _)| *name == BASE);
    let base = base.and_then(|(_, figures)| figures.as_ref().ok()).map(|figures| figures.nanoseconds);
    println!("\n{:<44}{:>10}{:>12}{:>12}{:>14}", "an instruction recorded", "ns", "× gdb", "bytes", "instructions");
    for ((name, _), median) in recorders.iter().zip(&medians) {
        match median {
            Ok(Figures { nanoseconds, bytes, instructions }) => {
                let ratio = base.map_or_else(String::new, |base| format!("{:.2}", base / nanoseconds));
                let bytes = bytes.map_or_else(String::new, |bytes| format!("{bytes:.3}"));
                println!("{name:<44}{nanoseconds:>10.0}{ratio:>12}{bytes:>12}{instructions:>14}");
            }
            Err(error) => println!("{name:<44}   SKIPPED: {error:#}"),
        }
    }
    Ok(())
}

/// What a round of work adds to a run without work, so that starting recorder and program does not count.
fn difference(program: &Program, record: Recorder) -> Result<Figures> {
    let (without, with) = (record(program, 0)?, record(program, 1)?);
    let instructions = with.instructions.checked_sub(without.instructions).filter(|count| *count > 0);
    let instructions = instructions.context("the work was not recorded")?;
    let per_instruction = |value: f64| value / instructions as f64;
    let bytes = with.bytes.zip(without.bytes).map(|(with, without)| per_instruction(with as f64 - without as f64));
    let time = with.time.as_secs_f64() - without.time.as_secs_f64();
    Ok(Figures { nanoseconds: per_instruction(time * 1e9), bytes, instructions })
}

/// The figures with the median time, or the first error.
fn median(figures: Vec<Result<Figures>>) -> Result<Figures> {
    let mut figures = figures.into_iter().collect::<Result<Vec<_>>>()?;
    figures.sort_unstable_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
    let middle = figures.len() / 2;
    figures.into_iter().nth(middle).context("no round was run")
}
