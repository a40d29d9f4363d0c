//! Benchmarks side by side with peers: every figure is a ratio to a peer measured in the same run.

mod alone;
mod arm64;
#[cfg(target_arch = "x86_64")]
mod attached;
mod breakpoints;
mod clock;
mod commands;
mod decode;
mod gdb;
#[cfg(target_arch = "x86_64")]
mod hit;
mod machine;
mod options;
mod programs;
mod record;
mod rounds;
mod start;
mod tally;

use anyhow::{Result, bail};
use clap::Parser;
use options::Options;

/// A benchmark and its name on the command line.
type Benchmark = (&'static str, fn(&Options) -> Result<()>);

const BENCHMARKS: &[Benchmark] = &[
    ("decode", decode::run),
    ("arm64", arm64::run),
    ("breakpoints", breakpoints::run),
    #[cfg(target_arch = "x86_64")]
    ("hit", hit::run),
    ("record", record::run),
    ("gdb", gdb::run),
    ("start", start::run),
    ("commands", commands::run),
    #[cfg(target_arch = "x86_64")]
    ("attached", attached::run),
];

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
