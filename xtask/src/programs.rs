//! Programs for arm64 that tests and benchmarks only read: they compare decoders over the programs' code.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cache::{self, Entry};
use crate::{apt, debian};

/// The packages with the programs of tests/src/programs.rs. Some have other names in Debian 12 than in 13.
const PACKAGES: [&[&str]; 6] = [
    &["bash:arm64"],
    &["git:arm64"],
    &["libc6:arm64"],
    &["libssl3t64:arm64", "libssl3:arm64"],
    &["libstdc++6:arm64"],
    &["python3.13-minimal:arm64", "python3.11-minimal:arm64"],
];
/// The variable that names their folder.
const ROOT: &str = "NTRACE_ARM64_ROOT";

/// Unpacks the programs unless the cache has them.
pub(crate) fn prepare() -> Result<()> {
    entry().make(|folder| {
        apt::add_architecture("arm64")?;
        debian::unpack_alone(&PACKAGES.map(debian::known_of), folder)
    })
}

/// Sets the variable for a command, if the cache has the programs and the environment names no others.
pub(crate) fn name_to(command: &mut Command) -> &mut Command {
    command.envs(variable())
}

/// The variable and the programs' folder, if the cache has them and the environment names no others.
pub(crate) fn variable() -> Option<(&'static str, PathBuf)> {
    folder().filter(|_| std::env::var_os(ROOT).is_none()).map(|folder| (ROOT, folder))
}

fn folder() -> Option<PathBuf> {
    let entry = entry();
    entry.is_complete().then(|| entry.folder().to_path_buf())
}

fn entry() -> Entry {
    Entry::of(format!("programs/arm64-{}", cache::key(&PACKAGES.concat())))
}
