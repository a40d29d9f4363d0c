//! The server of debuginfod(8), by which tests see that ntrace fetches debug files. It is unpacked and not installed, so that no service of
//! the system runs it.

use std::path::PathBuf;

use anyhow::Result;

use crate::cache::Entry;
use crate::debian;

const PACKAGE: &str = "debuginfod";
const PROGRAM: &str = "debuginfod";
/// The variable that names the server to the test program.
const VARIABLE: &str = "NTRACE_DEBUGINFOD";

/// Unpacks the server unless the cache has it.
pub(crate) fn bring() -> Result<()> {
    entry().make(|folder| {
        debian::unpack_with_dependencies("amd64", &[PACKAGE], folder)?;
        debian::wrap(folder, PROGRAM, &format!("usr/bin/{PROGRAM}"), "")
    })
}

/// The variable and the server's path, if the cache has it.
pub(crate) fn variable() -> Option<(&'static str, PathBuf)> {
    let entry = entry();
    entry.is_complete().then(|| (VARIABLE, entry.folder().join(PROGRAM)))
}

fn entry() -> Entry {
    Entry::of("debuginfod")
}
