//! Building for a machine.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::machine::Arch;
use crate::{cross, run};

/// `cargo ARGUMENTS` for the machine.
pub(super) fn cargo(arch: Arch, arguments: &[&str]) -> Result<Command> {
    match arch {
        Arch::Arm64 => cross::cargo(arguments),
        // The machine's C library is as new as the host's, or newer.
        Arch::X86_64 => Ok(run::cargo(arguments)),
    }
}

/// The target folder of that cargo.
pub(super) fn target_folder(arch: Arch) -> PathBuf {
    match arch {
        Arch::Arm64 => cross::target_folder().join(arch.facts().rust),
        Arch::X86_64 => run::root().join("target"),
    }
}
