//! Code of real programs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection};

/// Programs and libraries that a Debian may have; those that are there are used.
const USUAL: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/bin/bash",
    "/usr/bin/gdb",
    "/usr/bin/git",
    "/usr/bin/perf",
    "/usr/bin/python3.11",
];

/// The `.text` of one program.
pub(crate) struct Code {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// The code of the given programs, or of the usual ones that are installed.
pub(crate) fn load(given: &[PathBuf]) -> Result<Vec<Code>> {
    let usual = || USUAL.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
    let paths: Vec<PathBuf> = if given.is_empty() { usual() } else { given.to_vec() };
    if paths.is_empty() {
        bail!("none of the usual programs is installed: name some with --program");
    }
    paths.into_iter().map(|path| Ok(Code { bytes: text(&path)?, path })).collect()
}

fn text(path: &Path) -> Result<Vec<u8>> {
    let file = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let object = object::File::parse(&*file).with_context(|| format!("{} is no object file", path.display()))?;
    let section = object.section_by_name(".text").with_context(|| format!("{} has no .text", path.display()))?;
    Ok(section.data().with_context(|| format!("cannot read .text of {}", path.display()))?.to_vec())
}
