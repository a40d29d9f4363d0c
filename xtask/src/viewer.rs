//! Speedscope, a viewer of traces and stacks that runs in a browser. Tests open the pictures of the command with it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cache::Entry;
use crate::run;

/// The package of npm, and its version.
const PACKAGE: &str = "speedscope";
const VERSION: &str = "1.25.0";
/// The variable that names its folder to tests.
const FOLDER: &str = "NTRACE_SPEEDSCOPE";

/// Brings it by npm, unless the cache has it.
pub(crate) fn bring() -> Result<()> {
    if entry().is_complete() {
        return Ok(());
    }
    if !run::is_installed("npm") {
        bail!("no npm");
    }
    entry().make(|folder| {
        let mut pack = Command::new("npm");
        pack.args(["pack", "--silent", &format!("{PACKAGE}@{VERSION}"), "--pack-destination"]);
        let archive = run::output(pack.arg(folder))?;
        let archive = folder.join(archive.lines().last().context("npm names no archive")?);
        run::run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder).arg("--strip-components=1"))
    })
}

/// The variable and the folder, if the cache has it and the environment names no other.
pub(crate) fn variable() -> Option<(&'static str, PathBuf)> {
    let entry = entry();
    let is_wanted = entry.is_complete() && std::env::var_os(FOLDER).is_none();
    is_wanted.then(|| (FOLDER, entry.folder().to_path_buf()))
}

fn entry() -> Entry {
    Entry::of(format!("tools/{PACKAGE}-{VERSION}"))
}
