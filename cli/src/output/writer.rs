//! Writes results: lines of text and JSON values.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use serde::Serialize;

use super::escape;
use super::ink::{Ink, RESET, is_coloured};
use super::message::shown;
use super::streams::{stderr, stdout};
use crate::failure::{Failure, Result};

/// A buffered file, standard output or standard error.
pub(crate) struct Output<'a> {
    name: String,
    inner: BufWriter<Box<dyn Write + 'a>>,
    /// The buffer for the next line. It is kept to save allocations.
    text: String,
    coloured: bool,
}

impl Output<'static> {
    /// Opens the file, or standard error if no path is given.
    pub(crate) fn open(path: Option<&Path>) -> Result<Output<'static>> {
        let Some(path) = path else {
            let coloured = is_coloured(stderr().is_terminal());
            return Ok(Output { coloured, ..Output::new("standard error".into(), stderr()) });
        };
        let name = shown(path);
        let file = File::create(path).map_err(|error| Failure::own(format!("{name}: {error}")))?;
        let coloured = is_coloured(file.is_terminal());
        Ok(Output { coloured, ..Output::new(name, file) })
    }

    /// Standard output.
    pub(crate) fn stdout() -> Output<'static> {
        Output::new("standard output".into(), stdout())
    }
}

impl<'a> Output<'a> {
    /// Writes to `out`. Messages call it `name`.
    pub(crate) fn new(name: String, out: impl Write + 'a) -> Output<'a> {
        Output { name, inner: BufWriter::with_capacity(1 << 16, Box::new(out)), text: String::new(), coloured: false }
    }

    /// Writes one line. A newline in `text` is written as `\n`.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<()> {
        self.text.clear();
        let done = escape::push_text(&mut self.text, text).map_err(io::Error::other);
        self.put(done)
    }

    /// As [`Output::line`], for a line of parts that have colours on a terminal.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn inked(&mut self, parts: &[(Ink, &dyn Display)]) -> Result<()> {
        self.text.clear();
        let mut done = Ok(());
        for (ink, part) in parts {
            let sequence = if self.coloured { ink.sequence() } else { "" };
            let start = self.text.len();
            self.text.push_str(sequence);
            let begin = self.text.len();
            done = done.and(escape::push_text(&mut self.text, part));
            match (self.text.len() == begin, sequence.is_empty()) {
                (true, _) => self.text.truncate(start),
                (false, false) => self.text.push_str(RESET),
                (false, true) => {}
            }
        }
        self.put(done.map_err(io::Error::other))
    }

    /// Writes text that ntrace itself made, and does not escape it.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn trusted(&mut self, text: &[u8]) -> Result<()> {
        self.inner.write_all(text).map_err(|error| self.failure(&error))
    }

    /// Writes a value as one line of JSON.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let json = serde_json::to_string(value);
        self.put_json(json)
    }

    /// Writes a value as several indented lines of JSON.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn pretty_json(&mut self, value: &impl Serialize) -> Result<()> {
        let json = serde_json::to_string_pretty(value);
        self.put_json(json)
    }

    /// Writes the buffered bytes to the file.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.inner.flush().map_err(|error| self.failure(&error))
    }

    fn put_json(&mut self, json: serde_json::Result<String>) -> Result<()> {
        self.text.clear();
        let text = &mut self.text;
        let done = json.map_err(io::Error::from);
        let done = done.and_then(|json| escape::push_json(text, &json).map_err(io::Error::other));
        self.put(done)
    }

    /// Writes the prepared text and a newline.
    fn put(&mut self, ready: io::Result<()>) -> Result<()> {
        self.text.push('\n');
        let written = ready.and_then(|()| self.inner.write_all(self.text.as_bytes()));
        written.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &io::Error) -> Failure {
        Failure::own(format!("{}: {error}", self.name))
    }
}
