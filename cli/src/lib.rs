//! The `ntrace` command as a library: the program is [`run`], and what must bear hostile files can be handed some ([`examine()`]).

mod args;
mod code;
mod count;
mod cpu;
mod disassembly;
mod examine;
mod explain;
mod failure;
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
use crate::failure::tell;

/// Does what the command line asks; the answer is the exit status.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
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
