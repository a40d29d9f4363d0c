//! The oldest Rust that the published packages build by: Debian 13's. It is unpacked into the cache where it is not installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::cache::Entry;
use crate::debian::{self, Suite};
use crate::{cross, packages, run};

/// Debian 13's name.
const SUITE: &str = "trixie";
/// Its version of Rust, which `rust-version` in `Cargo.toml` names.
const VERSION: &str = env!("CARGO_PKG_RUST_VERSION");
/// Where Debian installs it.
const INSTALLED: &str = "/usr/bin";

/// Brings it, unless it is installed or was brought before.
pub(crate) fn bring() -> Result<()> {
    if is_wanted(Path::new(INSTALLED)) {
        return Ok(());
    }
    entry().make(|folder| {
        let suite = Suite::open(SUITE, &["amd64"], &folder.with_extension("apt"))?;
        suite.unpack_with_dependencies("cargo", folder)?;
        // By its own path, which is the loader's, the compiler does not find the standard library.
        debian::wrap(folder, "rustc", "usr/bin/rustc", "--sysroot \"$root/usr\"")?;
        debian::wrap(folder, "cargo", "usr/bin/cargo", "")?;
        if !is_wanted(folder) {
            bail!("the Rust of Debian's {SUITE} is not {VERSION}");
        }
        Ok(())
    })
}

/// Why nothing can be built by it here.
pub(crate) fn obstacle() -> Option<String> {
    if is_wanted(Path::new(INSTALLED)) || entry().is_complete() {
        return None;
    }
    let reason = format!("no Rust {VERSION} of Debian's {SUITE}");
    Some(if cross::is_host() { reason + "; `cargo xtask setup` brings it" } else { reason + " in /usr/bin" })
}

/// The lane: the published packages build by it, and so does the checkout with its tests, which whoever has no other Rust runs. Where cargo
/// cannot make packages, the checkout alone is built.
pub(crate) fn check() -> Result<()> {
    let target = run::root().join("target/oldest-rust");
    let tools = if is_wanted(Path::new(INSTALLED)) { INSTALLED.into() } else { entry().folder().to_path_buf() };
    if packages::obstacle().is_none() {
        let folder = packages::make(&target)?;
        let mut check = cargo(&tools, &target, &folder);
        check.args(["--lib", "--bins"]);
        for name in packages::names()? {
            check.args(["--package", &name]);
        }
        run::run(&mut check)?;
    }
    run::run(cargo(&tools, &target, &run::root()).args(["--workspace", "--all-targets"]))
}

/// `cargo check` in a folder by the Rust that is unpacked at `tools`.
fn cargo(tools: &Path, target: &Path, folder: &Path) -> Command {
    let mut command = Command::new(tools.join("cargo"));
    command.arg("check").arg("--target-dir").arg(target).current_dir(folder);
    // These name the toolchain that runs this program, or its options.
    for variable in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTDOC", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        command.env_remove(variable);
    }
    command.env("RUSTC", tools.join("rustc"));
    command
}

/// Whether a folder has that version of Rust.
fn is_wanted(folder: &Path) -> bool {
    let told = run::output(Command::new(folder.join("rustc")).arg("--version")).unwrap_or_default();
    folder.join("cargo").exists() && is_of(&told, VERSION)
}

/// Whether a compiler that says this is of a version, whatever its patch.
fn is_of(told: &str, version: &str) -> bool {
    let rest = told.strip_prefix("rustc ").and_then(|rest| rest.strip_prefix(version));
    rest.is_some_and(|rest| rest.starts_with('.'))
}

fn entry() -> Entry {
    Entry::of(PathBuf::from("rust").join(format!("{SUITE}-{VERSION}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_rust_is_known_by_what_its_compiler_says() {
        assert!(is_of("rustc 1.85.0 (4d91de4e4 2025-02-17) (built from a source tarball)\n", "1.85"));
        assert!(!is_of("rustc 1.86.0", "1.85"));
        assert!(!is_of("rustc 1.850.0", "1.85"));
        assert!(!is_of("", "1.85"));
    }
}
