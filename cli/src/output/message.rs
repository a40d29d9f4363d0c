//! Messages on standard error, and names in them.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use ubp_symbols::utf8;

use super::streams::stderr;
use super::{escape, live};

/// Writes a message to standard error, as one line. Errors are ignored: a closed standard error has no reader.
pub(crate) fn tell(message: impl Display) {
    let mut line = format!("{}ntrace: ", live::erase());
    let _ = escape::push_text(&mut line, message);
    line.push('\n');
    let _ = stderr().write_all(line.as_bytes());
}

/// Returns a path or a program's name in the form that messages use.
pub(crate) fn shown(name: impl AsRef<OsStr>) -> String {
    utf8(name.as_ref().as_bytes()).into_owned()
}
