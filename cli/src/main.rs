//! The `ntrace` command.

mod args;
mod cpu;
mod disassembly;
mod explain;
mod failure;
mod location;
mod survey;
mod sweep;
mod symbols;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Explain(args) => explain::run(args),
        Command::Survey(args) => survey::run(args),
        _ => Err(Failure::own("not there")),
    };
    done.unwrap_or_else(|failure| {
        eprintln!("ntrace: {failure}");
        ExitCode::from(failure.status)
    })
}
