//! The `ntrace` command as a library: the program only calls [`run`].

mod args;
mod commands;
mod completing;
mod dap;
mod debuginfod;
mod disassembly;
mod door;
mod failure;
mod filter;
mod fleet;
mod follow;
mod heritage;
mod hex;
mod item;
mod launch;
mod location;
#[cfg(target_arch = "aarch64")]
#[path = "native/arm64/mod.rs"]
mod native;
#[cfg(target_arch = "x86_64")]
#[path = "native/x86/mod.rs"]
mod native;
mod output;
mod process;
mod rules;
mod syscalls;
mod thread;
mod values;
mod worker;

use std::process::ExitCode;

use clap::Parser;

pub use crate::heritage::note as note_heritage;

use crate::args::Cli;
use crate::failure::USAGE;
use crate::output::{Output, tell};

/// Does what the command line asks, and returns the exit status.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return report(&error),
    };
    output::set_colour(cli.color);
    cli.debuginfod.iter().for_each(|servers| debuginfod::ask(servers));
    commands::run(&cli.command).unwrap_or_else(|failure| {
        tell(&failure);
        ExitCode::from(failure.status)
    })
}

/// Reports an error of the command line, or prints the help or the version if the command line asks for it.
fn report(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    // The text may quote a file's name from the command line, so `Output` escapes it.
    if let Ok(mut out) = Output::open(None) {
        let text = error.render().to_string();
        let _ = text.lines().try_for_each(|line| out.line(line)).and_then(|()| out.flush());
    }
    ExitCode::from(USAGE)
}
