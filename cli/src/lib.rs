//! The `ntrace` command as a library: the program is [`run`], and what must bear hostile files can be handed some ([`examine()`]).

mod args;
mod code;
mod count;
mod cpu;
mod disassembly;
mod examine;
mod explain;
mod failure;
mod files;
mod heritage;
mod instructions;
mod location;
#[cfg(target_arch = "aarch64")]
#[path = "native/arm64/mod.rs"]
mod native;
#[cfg(target_arch = "x86_64")]
#[path = "native/x86/mod.rs"]
mod native;
mod output;
mod process;
mod recording;
mod survey;
mod symbols;
mod trace;
mod watch;
mod worker;

use std::process::ExitCode;

use clap::Parser;

pub use crate::examine::examine;
pub use crate::heritage::note as note_heritage;

use crate::args::{Cli, Command};
use crate::failure::USAGE;
use crate::output::{Output, tell};

/// Does what the command line asks; the answer is the exit status.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return wrong_usage(&error),
    };
    let done = match &cli.command {
        Command::Record(args) => recording::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Survey(args) => survey::run(args),
        Command::Trace(args) => worker::run(|control, heritage| trace::run(args, control, heritage)),
        Command::Count(args) => worker::run(|control, heritage| count::run(args, control, heritage)),
    };
    done.unwrap_or_else(|failure| {
        tell(&failure);
        ExitCode::from(failure.status)
    })
}

/// Says what is wrong with the command line, or what was asked for instead: help, the version.
fn wrong_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    // The words of a command line may be names of files.
    if let Ok(mut out) = Output::open(None) {
        let text = error.render().to_string();
        let _ = text.lines().try_for_each(|line| out.line(line)).and_then(|()| out.flush());
    }
    ExitCode::from(USAGE)
}
