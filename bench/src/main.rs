//! Benchmarks side by side with peers: every figure is a ratio to a peer measured in the same run.

mod alone;
mod arm64;
mod breakpoints;
mod clock;
mod decode;
mod machine;
mod programs;
mod record;
mod rounds;

use anyhow::{Result, bail};
use clap::Parser;

/// Side by side with peers; figures are comparable within one run only.
#[derive(Parser)]
struct Options {
    /// Benchmark to run; without it all of them: decode, arm64, breakpoints, record
    name: Option<String>,
    /// Rounds of which the median counts
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// Only subjects whose name contains this (for a profiler; ratios to absent subjects are left out)
    #[arg(long)]
    only: Option<String>,
    /// Programs whose code is decoded, instead of the usual ones that are installed
    #[arg(long)]
    program: Vec<std::path::PathBuf>,
}

/// A benchmark and its name on the command line.
type Benchmark = (&'static str, fn(&Options) -> Result<()>);

const BENCHMARKS: &[Benchmark] =
    &[("decode", decode::run), ("arm64", arm64::run), ("breakpoints", breakpoints::run), ("record", record::run)];

fn main() -> Result<()> {
    if let Some(outcome) = breakpoints::as_debuggee() {
        return outcome;
    }
    let options = Options::parse();
    let chosen: Vec<&Benchmark> =
        BENCHMARKS.iter().filter(|(name, _)| options.name.as_deref().is_none_or(|wanted| wanted == *name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = BENCHMARKS.iter().map(|(name, _)| *name).collect();
        bail!("no benchmark {:?}; there are: {}", options.name.unwrap_or_default(), names.join(", "));
    }
    println!("{}", machine::describe());
    for (name, benchmark) in chosen {
        println!("\n## {name}");
        benchmark(&options)?;
    }
    Ok(())
}
