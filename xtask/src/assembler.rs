//! LLVM's disassembler llvm-mc, the newest that Debian has, with which tests compare the decoders. It comes from another suite than this
//! system's, with its own libraries and loader, and is not installed.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::cache::Entry;
use crate::cross;
use crate::debian::{self, Suite};

/// The suite of Debian with the newest released LLVM.
const SUITE: &str = "sid";
const PROGRAM: &str = "llvm-mc";
/// The test program that compares what is an instruction. It needs llvm-mc.
pub(crate) const TEST: &str = "fuzz/claims/tests/assembler.rs";
/// The test program that compares names. It skips llvm-mc where there is none.
pub(crate) const NAMES: &str = "fuzz/claims/tests/names.rs";
/// The test program that compares operands of A64. It needs llvm-mc.
pub(crate) const OPERANDS: &str = "fuzz/claims/tests/a64_operands.rs";
/// The variable that names llvm-mc to the test program.
const VARIABLE: &str = "NTRACE_LLVM_MC";

/// Unpacks llvm-mc unless the cache has it.
pub(crate) fn bring() -> Result<()> {
    entry().make(|folder| {
        let suite = Suite::open(SUITE, &["amd64"], &folder.with_extension("apt"))?;
        let version = newest(&suite.names("llvm-")?).context("no package of Debian's is called llvm-NUMBER")?;
        suite.unpack_with_dependencies(&format!("llvm-{version}"), folder)?;
        let programs = folder.join(format!("usr/lib/llvm-{version}/bin"));
        for file in fs::read_dir(&programs).with_context(|| format!("no {}", programs.display()))?.flatten() {
            if file.file_name() != PROGRAM {
                fs::remove_file(file.path()).with_context(|| format!("cannot remove {}", file.path().display()))?;
            }
        }
        debian::wrap(folder, PROGRAM, &format!("usr/lib/llvm-{version}/bin/{PROGRAM}"), "")
    })
}

/// The variable and llvm-mc's path, if the cache has it.
pub(crate) fn variable() -> Option<(&'static str, PathBuf)> {
    entry().is_complete().then(|| (VARIABLE, program()))
}

/// Why nothing can be compared here.
pub(crate) fn obstacle() -> Option<String> {
    if !cross::is_host() {
        return Some("llvm-mc is brought to x86-64 alone".into());
    }
    (!entry().is_complete()).then(|| format!("no llvm-mc of Debian's {SUITE}; `cargo xtask setup` brings it"))
}

fn entry() -> Entry {
    Entry::of("llvm-mc")
}

fn program() -> PathBuf {
    entry().folder().join(PROGRAM)
}

/// The highest number that a package `llvm-NUMBER` has.
fn newest(names: &[String]) -> Option<u32> {
    names.iter().filter_map(|name| name.strip_prefix("llvm-")?.parse().ok()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_package_is_that_of_the_highest_number() {
        let names = ["llvm-9", "llvm-23", "llvm-23-dev", "llvm-dev", "llvm-22"].map(str::to_owned);
        assert_eq!(newest(&names), Some(23));
        assert_eq!(newest(&["llvm-dev".to_owned()]), None);
    }
}
