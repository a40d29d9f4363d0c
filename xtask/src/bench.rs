//! `cargo xtask bench`: side by side with peers.

use anyhow::Result;
use clap::Args;

use crate::{apt, programs, run, suite};

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
    if options.name.as_deref().is_none_or(|name| ["gdb", "start", "commands", "attached"].contains(&name)) {
        run::run(&mut run::cargo(&["build", "--profile", "compared", "--quiet", "--package", "ntrace-cli"]))?;
    }
    let mut arguments = vec!["run", "--profile", "compared", "--quiet", "--package", "bench"];
    // Those who decode nothing need no peers that decode.
    if options.name.as_deref().is_none_or(|name| !["gdb", "start"].contains(&name)) {
        arguments.extend(["--features", "zydis,bad64"]);
    }
    arguments.push("--");
    arguments.extend(options.name.as_deref());
    arguments.extend(options.rest.iter().map(String::as_str));
    let mut command = run::cargo(&arguments);
    command.env(suite::NTRACE, run::root().join("target/compared/ntrace"));
    run::run(programs::name_to(&mut command))
}
