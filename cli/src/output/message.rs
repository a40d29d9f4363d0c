//! Messages on standard error, and names in them.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError};

use ubp_symbols::utf8;

use super::streams::stderr;
use super::{escape, live};

/// The messages that are kept while something else is on the terminal. `None`: messages are written.
static KEPT: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Writes a message to standard error, as one line. Errors are ignored: a closed standard error has no reader.
pub(crate) fn tell(message: impl Display) {
    let mut text = String::from("ntrace: ");
    let _ = escape::push_text(&mut text, message);
    if let Some(kept) = &mut *KEPT.lock().unwrap_or_else(PoisonError::into_inner) {
        kept.push(text);
        return;
    }
    let _ = stderr().write_all(format!("{}{text}\n", live::erase()).as_bytes());
}

/// Keeps messages from now on.
pub(crate) fn keep_messages() {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
}

/// The messages that were kept since the last call.
pub(crate) fn kept_messages() -> Vec<String> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(std::mem::take).unwrap_or_default()
}

/// Returns a path or a program's name in the form that messages use.
pub(crate) fn shown(name: impl AsRef<OsStr>) -> String {
    utf8(name.as_ref().as_bytes()).into_owned()
}
