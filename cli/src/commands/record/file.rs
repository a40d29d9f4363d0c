//! Opens recordings.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use record::Reader;

use crate::failure::{Failure, Result};
use crate::output::shown;

/// A recording that is read.
pub(super) type Recording = Reader<BufReader<Box<dyn Read>>>;

/// Opens a recording; - is standard input.
pub(super) fn open(file: &Path) -> Result<Recording> {
    let inner: Box<dyn Read> = if is_dash(file) {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(|error| Failure::own(format!("{}: {error}", shown(file))))?)
    };
    Reader::new(BufReader::with_capacity(1 << 16, inner)).map_err(|error| failure(file, &error))
}

/// Whether a path means a standard stream.
pub(super) fn is_dash(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Returns the failure for an error in a recording.
pub(super) fn failure(file: &Path, error: &record::Error) -> Failure {
    Failure::own(format!("{}: {error}", shown(file)))
}
