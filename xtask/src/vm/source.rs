//! Sources of kernels: the oldest that the module is made for, a package of this system, and the newest that Debian builds for its stable
//! release, which comes from another suite.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::machine::Machine;
use crate::cache::Entry;
use crate::{debian, run};

/// The oldest; Debian gives new versions of it the same name.
const OLDEST: &str = "linux-source-6.12";
/// Where Debian has newer kernels, and how their packages are called.
const SUITE: &str = "trixie-backports";
const NEWEST: &str = "linux-source-";
/// Bindings for new kernels need a newer libclang than the system's own.
const LIBCLANG: [&str; 2] = ["libclang1-19", "libllvm19"];

/// Settings of older kernels, and what newer ones call them: nothing where it is always so.
const NEWER_WORDS: &[(&str, &str)] = &[
    ("CONFIG_PROC_SYSCTL=y\n", "CONFIG_SYSCTL=y\n"),
    ("CONFIG_ARM64_PAN=y\n", ""),
    ("CONFIG_ARM64_USE_LSE_ATOMICS=y\n", ""),
];

/// The source of a kernel.
pub(crate) struct Source {
    /// The package's name.
    pub(crate) name: String,
    /// The archive's bytes, which tell two versions of a package apart.
    pub(crate) size: u64,
    archive: PathBuf,
    is_newest: bool,
}

impl Source {
    /// The one for a machine's kernel.
    pub(crate) fn of(machine: Machine) -> Result<Source> {
        let is_newest = machine.newest_kernel;
        let archive =
            if is_newest { newest()? } else { Path::new("/usr/src").join(OLDEST).with_added_extension("tar.xz") };
        let size = fs::metadata(&archive).with_context(|| format!("no {}", archive.display()))?.len();
        let file = archive.file_name().unwrap_or_default().to_string_lossy();
        Ok(Source { name: file.trim_end_matches(".tar.xz").to_owned(), size, archive, is_newest })
    }

    /// Unpacks it.
    pub(crate) fn unpack(&self, folder: &Path) -> Result<()> {
        let mut tar = Command::new("tar");
        tar.arg("--extract")
            .arg("--file")
            .arg(&self.archive)
            .arg("--directory")
            .arg(folder)
            .arg("--strip-components=1");
        // A third of the source describes the registers of one vendor's graphics.
        run::run(tar.arg("--exclude=*/drivers/gpu/drm/amd/include/asic_reg"))
    }

    /// A configuration in this kernel's words.
    pub(crate) fn translate(&self, configuration: &str) -> String {
        let words = if self.is_newest { NEWER_WORDS } else { &[] };
        words.iter().fold(configuration.into(), |text: String, (older, newer)| text.replace(older, newer))
    }

    /// The folder of the libclang that makes its bindings, where that is not the system's.
    pub(crate) fn libclang(&self) -> Option<PathBuf> {
        self.is_newest.then(|| libclang().folder().join("usr/lib/x86_64-linux-gnu"))
    }
}

/// Brings the newest source, and what makes its bindings, unless one was brought before.
pub(crate) fn bring_newest() -> Result<()> {
    libclang().make(|folder| debian::unpack_alone(&LIBCLANG, folder))?;
    entry().make(|folder| debian::unpack_newest(SUITE, NEWEST, folder))
}

fn newest() -> Result<PathBuf> {
    let folder = entry().folder().join("usr/src");
    let files = fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))?;
    let mut archives =
        files.flatten().map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "xz"));
    match archives.next() {
        Some(archive) => Ok(archive),
        None => bail!("no archive in {}", folder.display()),
    }
}

fn entry() -> Entry {
    Entry::of("kernel/newest")
}

fn libclang() -> Entry {
    Entry::of("tools/libclang-19")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_has_the_words_of_its_kernel() {
        let source = |is_newest| Source { name: String::new(), size: 0, archive: PathBuf::new(), is_newest };
        let common = "CONFIG_PROC_FS=y\nCONFIG_PROC_SYSCTL=y\nCONFIG_ARM64_PAN=y\n";
        assert_eq!(source(false).translate(common), common);
        assert_eq!(source(true).translate(common), "CONFIG_PROC_FS=y\nCONFIG_SYSCTL=y\n");
    }
}
