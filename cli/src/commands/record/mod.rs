//! `ntrace record`.

mod check;
mod file;
mod instruction;
mod marks;
mod print;
mod session;

use std::process::ExitCode;

use crate::args::RecordArgs;
use crate::failure::Result;
use crate::worker;

/// Runs the command.
pub(super) fn run(args: &RecordArgs) -> Result<ExitCode> {
    match (&args.check, &args.print) {
        (Some(file), _) => check::run(file),
        (None, Some(file)) => print::run(file, args.format),
        (None, None) => worker::run(|control, heritage| session::run(args, control, heritage)),
    }
}
