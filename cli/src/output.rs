//! Where results go.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::failure::{Failure, Result};

/// A file, or standard error; written in large pieces.
pub(crate) struct Output {
    name: String,
    inner: BufWriter<Box<dyn Write>>,
}

impl Output {
    /// Opens the file, standard error where there is none.
    pub(crate) fn open(path: Option<&Path>) -> Result<Output> {
        let (name, inner): (String, Box<dyn Write>) = match path {
            None => ("standard error".into(), Box::new(io::stderr())),
            Some(path) => {
                let name = path.display().to_string();
                let file = File::create(path).map_err(|error| Failure::own(format!("{name}: {error}")))?;
                (name, Box::new(file))
            }
        };
        Ok(Output { name, inner: BufWriter::with_capacity(1 << 16, inner) })
    }

    /// Writes something.
    pub(crate) fn write(&mut self, f: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        f(&mut self.inner).map_err(|error| self.failure(&error))
    }

    /// Brings out all that was written.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.inner.flush().map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &io::Error) -> Failure {
        Failure::own(format!("{}: {error}", self.name))
    }
}
