//! `cargo xtask bench`: side by side with peers.

use anyhow::Result;
use clap::Args;

use crate::{apt, programs, run};

/// Which benchmarks, and how.
#[derive(Args)]
pub(crate) struct Options {
    /// Benchmark to run; without it all of them
    name: Option<String>,
    /// Arguments for the benchmark
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Builds the benchmarks with all peers and runs them.
pub(crate) fn run(options: &Options) -> Result<()> {
    apt::install(apt::FOR_BENCHMARKS)?;
    let mut arguments =
        vec!["run", "--profile", "compared", "--quiet", "--package", "bench", "--features", "zydis,bad64", "--"];
    arguments.extend(options.name.as_deref());
    arguments.extend(options.rest.iter().map(String::as_str));
    run::run(programs::name_to(&mut run::cargo(&arguments)))
}
