//! `ntrace record`.

mod check;
mod code;
mod print;
mod session;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::ExitCode;

use record::Reader;

use crate::args::RecordArgs;
use crate::failure::{Failure, Result};
use crate::output::shown;
use crate::worker;

/// Runs the command.
pub(crate) fn run(args: &RecordArgs) -> Result<ExitCode> {
    match (&args.check, &args.print) {
        (Some(file), _) => check::run(file),
        (None, Some(file)) => print::run(file, args.format),
        (None, None) => worker::run(|control, heritage| session::run(args, control, heritage)),
    }
}

/// A trace that is read.
type Trace = Reader<BufReader<Box<dyn Read>>>;

/// Opens a trace; - is standard input.
fn open(file: &Path) -> Result<Trace> {
    let inner: Box<dyn Read> = if is_dash(file) {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(|error| Failure::own(format!("{}: {error}", shown(file))))?)
    };
    Reader::new(BufReader::with_capacity(1 << 16, inner)).map_err(|error| failure(file, &error))
}

fn is_dash(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn failure(file: &Path, error: &record::Error) -> Failure {
    Failure::own(format!("{}: {error}", shown(file)))
}
