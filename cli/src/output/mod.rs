//! All that the command prints, but for recordings, whose bytes are a format of their own.
//!
//! Names of symbols, files, threads and programs are a debuggee's choice, and may hold what a terminal obeys. Nothing outside of this module
//! has a writer: text is handed over line by line ([`Output::line`], [`tell`]), and escaped here, whatever it is made of.

mod escape;
mod live;

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::Serialize;

pub(crate) use self::escape::utf8;
pub(crate) use self::live::{Live, TICK};
use crate::failure::{Failure, Result};

/// A file, or standard output or error; written in large pieces.
pub(crate) struct Output<'a> {
    name: String,
    inner: BufWriter<Box<dyn Write + 'a>>,
    /// Room for what is written next.
    text: String,
}

impl Output<'static> {
    /// Opens the file, standard error where there is none.
    pub(crate) fn open(path: Option<&Path>) -> Result<Output<'static>> {
        let Some(path) = path else { return Ok(Output::new("standard error".into(), stderr())) };
        let name = shown(path);
        let file = File::create(path).map_err(|error| Failure::own(format!("{name}: {error}")))?;
        Ok(Output::new(name, file))
    }

    /// Standard output.
    pub(crate) fn stdout() -> Output<'static> {
        #[expect(clippy::disallowed_methods, reason = "this is where it is escaped")]
        let stdout = io::stdout().lock();
        Output::new("standard output".into(), stdout)
    }
}

impl<'a> Output<'a> {
    /// Writes to `out`, which messages call `name`.
    pub(crate) fn new(name: String, out: impl Write + 'a) -> Output<'a> {
        Output { name, inner: BufWriter::with_capacity(1 << 16, Box::new(out)), text: String::new() }
    }

    /// Writes one line, and ends it. A newline in `text` is written as `\n`.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<()> {
        self.text.clear();
        let done = escape::push_text(&mut self.text, text).map_err(io::Error::other);
        self.put(done)
    }

    /// Writes a value as one line of JSON.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let json = serde_json::to_string(value);
        self.put_json(json)
    }

    /// Writes a value as several lines of JSON, for people.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn pretty_json(&mut self, value: &impl Serialize) -> Result<()> {
        let json = serde_json::to_string_pretty(value);
        self.put_json(json)
    }

    /// Brings out all that was written.
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

    /// Writes the text that was made ready, and a newline.
    fn put(&mut self, ready: io::Result<()>) -> Result<()> {
        self.text.push('\n');
        let written = ready.and_then(|()| self.inner.write_all(self.text.as_bytes()));
        written.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &io::Error) -> Failure {
        Failure::own(format!("{}: {error}", self.name))
    }
}

/// Says something on standard error, in one line; where that is closed, nobody listens.
pub(crate) fn tell(message: impl Display) {
    let mut line = format!("{}ntrace: ", live::erase());
    let _ = escape::push_text(&mut line, message);
    line.push('\n');
    let _ = stderr().write_all(line.as_bytes());
}

/// A path, or a program's name, as messages have it.
pub(crate) fn shown(name: impl AsRef<OsStr>) -> String {
    utf8(name.as_ref().as_bytes()).into_owned()
}

#[expect(clippy::disallowed_methods, reason = "this is where it is escaped")]
fn stderr() -> io::Stderr {
    io::stderr()
}
