//! The command line.

use clap::Parser;

/// Side by side with peers; figures are comparable within one run only.
#[derive(Parser)]
pub(crate) struct Options {
    /// Benchmark to run; without it all of them: decode, arm64, breakpoints, hit, record, gdb, start, commands, attached
    pub(crate) name: Option<String>,
    /// Rounds of which the median counts
    #[arg(long, default_value_t = 11)]
    pub(crate) rounds: usize,
    /// Only subjects whose name contains this (for a profiler; ratios to absent subjects are left out)
    #[arg(long)]
    pub(crate) only: Option<String>,
    /// Programs whose code is decoded, instead of the usual ones that are installed
    #[arg(long)]
    pub(crate) program: Vec<std::path::PathBuf>,
}
