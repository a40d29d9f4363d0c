//! The machine's programs: Debian's packages, unpacked in the cache.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;

use super::machine::Arch;
use crate::cache::{self, Entry};
use crate::{apt, debian};

/// Packages of traced programs, of programs that tests call, and of a shell.
const PACKAGES: &[&str] = &[
    "base-files",
    "base-passwd",
    "bash",
    "binutils",
    "busybox-static",
    "coreutils",
    "dash",
    "findutils",
    "g++",
    "gcc",
    "grep",
    "gzip",
    "libc-bin",
    "libc6-dev",
    "luajit",
    "mawk",
    "netbase",
    "perl-base",
    "procps",
    "sed",
    "sqlite3",
    "tar",
    "util-linux",
    "xz-utils",
];

/// Links that the packages' installation scripts would make.
const LINKS: &[(&str, &str)] =
    &[("usr/bin/awk", "mawk"), ("usr/bin/cc", "gcc"), ("usr/bin/c++", "g++"), ("usr/bin/sh", "dash")];

/// The folder of the machine's programs, made if it is not there.
pub(crate) fn folder(arch: Arch) -> Result<PathBuf> {
    let entry = entry(arch);
    entry.make(|folder| {
        let architecture = arch.facts().debian;
        apt::add_architecture(architecture)?;
        debian::unpack_with_dependencies(architecture, PACKAGES, folder)?;
        for (link, target) in LINKS.iter().map(|(link, target)| (folder.join(link), target)) {
            if !link.exists() {
                symlink(target, link)?;
            }
        }
        Ok(())
    })?;
    Ok(entry.folder().to_path_buf())
}

/// When the folder was made, if it is.
pub(crate) fn made(arch: Arch) -> Option<SystemTime> {
    entry(arch).made()
}

/// The program that the kernel starts first.
pub(crate) fn busybox(root: &Path) -> PathBuf {
    root.join("usr/bin/busybox")
}

fn entry(arch: Arch) -> Entry {
    let name = arch.facts().debian;
    let links: Vec<&str> = LINKS.iter().flat_map(|(link, target)| [*link, *target]).collect();
    Entry::of(format!("root/{name}-{}", cache::key(&[PACKAGES, &links].concat())))
}
