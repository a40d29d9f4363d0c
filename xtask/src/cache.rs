//! The cache outside the checkout: kernels, root file systems, standard libraries, made once.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use nix::fcntl::{Flock, FlockArg};

/// `$XDG_CACHE_HOME/ntrace` or `~/.cache/ntrace`.
pub(crate) fn folder() -> PathBuf {
    let user = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    user.or_else(home).unwrap_or_else(std::env::temp_dir).join("ntrace")
}

/// Something in the cache that takes long to make. A mark beside it says that it is complete: an interrupted entry is made again.
pub(crate) struct Entry {
    folder: PathBuf,
}

impl Entry {
    /// The entry of that name, a path relative to the cache.
    pub(crate) fn of(name: impl AsRef<Path>) -> Entry {
        Entry { folder: folder().join(name) }
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it is complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.beside("complete").exists()
    }

    /// When it was completed, if it is.
    pub(crate) fn made(&self) -> Option<SystemTime> {
        fs::metadata(self.beside("complete")).and_then(|mark| mark.modified()).ok()
    }

    /// Calls `make` with the entry's folder unless the entry is complete. Another process that makes it is waited for. The folder may
    /// hold the rest of an attempt that failed.
    pub(crate) fn make(&self, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        if self.is_complete() {
            return Ok(());
        }
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {}", self.folder.display()))?;
        let path = self.beside("lock");
        let lock = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        let locked = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error);
        let _locked = locked.with_context(|| format!("cannot lock {}", path.display()))?;
        if self.is_complete() {
            return Ok(());
        }
        make(&self.folder)?;
        let path = self.beside("complete");
        fs::write(&path, "").with_context(|| format!("cannot write {}", path.display()))
    }

    fn beside(&self, extension: &str) -> PathBuf {
        let mut name = self.folder.clone().into_os_string();
        name.push(".");
        name.push(extension);
        name.into()
    }
}

/// A short name for all of `parts`. Another version of Rust may give another name.
pub(crate) fn key(parts: &[&str]) -> String {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_made_once_and_again_after_a_failure() {
        let folder = std::env::temp_dir().join(format!("ntrace-cache-{}", std::process::id()));
        let entry = Entry { folder: folder.join("thing") };
        let mut attempts = 0;
        assert!(entry.make(|_| anyhow::bail!("no")).is_err());
        for _ in 0..2 {
            let made = entry.make(|_| {
                attempts += 1;
                Ok(())
            });
            assert!(made.is_ok());
        }
        assert_eq!(attempts, 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_key_tells_where_one_part_ends() {
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }
}
