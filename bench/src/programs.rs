//! Code of real programs.

use std::path::PathBuf;

use anyhow::{Result, anyhow};

/// The `.text` of one program.
pub(crate) struct Code {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// The code of the given programs, or of the usual ones where none is given.
pub(crate) fn load(given: &[PathBuf], usual: impl Fn() -> Vec<PathBuf>) -> Result<Vec<Code>> {
    let paths = if given.is_empty() { usual() } else { given.to_vec() };
    let load = |path: PathBuf| {
        let bytes = crossing::programs::text(&path).map_err(|error| anyhow!("{}: {error}", path.display()))?;
        Ok(Code { path, bytes })
    };
    paths.into_iter().map(load).collect()
}
