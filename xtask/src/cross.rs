//! Compiling for arm64 on another machine.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cache::{self, Entry};
use crate::{debian, run};

/// The target triple.
pub(crate) const TARGET: &str = "aarch64-unknown-linux-gnu";
/// C compiler and linker.
pub(crate) const GCC: &str = "aarch64-linux-gnu-gcc";
/// The C compiler's package, which depends on the package of one version. Both are unpacked and not installed: they conflict with the 32-bit
/// one's, gcc-multilib.
const GCC_PACKAGE: &str = "gcc-aarch64-linux-gnu";
/// Runs a program for arm64. It has no ptrace, so a program that traces another cannot run.
const QEMU_USER: &str = "qemu-aarch64-static";
/// The folder of the C library and the assembler for arm64.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// Debian's compiler. Debian's standard library for arm64 works with this compiler only.
pub(crate) const DEBIANS_RUSTC: &str = "/usr/bin/rustc";
const DEBIANS_RUSTDOC: &str = "/usr/bin/rustdoc";

/// The packages of a Rust compiler of Debian's. One compiler is installed at a time.
#[derive(Clone, Copy)]
pub(crate) struct DebiansRust {
    pub(crate) compiler: &'static str,
    /// The source of the standard library.
    pub(crate) source: &'static str,
    /// A file of `source`'s package.
    pub(crate) source_sign: &'static str,
    /// The standard library of another architecture.
    library: &'static str,
}

/// The one that Debian keeps new for web browsers, and the one of the release.
const DEBIANS_RUSTS: [DebiansRust; 2] = [
    DebiansRust {
        compiler: "rustc-web",
        source: "rust-web-src",
        source_sign: "/usr/share/doc/rust-web-src",
        library: "libstd-rust-web-dev",
    },
    DebiansRust {
        compiler: "rustc",
        source: "rust-src",
        source_sign: "/usr/share/doc/rust-src",
        library: "libstd-rust-dev",
    },
];

/// The packages of the compiler that is installed; where none is, of the newer one.
pub(crate) fn debians_rust() -> DebiansRust {
    let [newer, release] = DEBIANS_RUSTS;
    let has_release = debian::version(newer.compiler).is_none() && debian::version(release.compiler).is_some();
    if has_release { release } else { newer }
}

/// A Rust compiler for arm64.
enum Toolchain {
    /// Rustup's compiler, with rustup's component for arm64.
    Rustup,
    /// Debian's compiler, with its standard library for arm64 below this folder.
    Debian(PathBuf),
}

/// Whether this machine can run the lanes of other architectures.
pub(crate) fn is_host() -> bool {
    std::env::consts::ARCH == "x86_64"
}

/// Why nothing can be compiled for arm64 here.
pub(crate) fn obstacle() -> Option<String> {
    let has_gcc = gcc().is_complete() || run::is_installed(GCC);
    let missing = (!has_gcc).then(|| format!("no {GCC}; `cargo xtask setup` brings it"));
    missing.or_else(|| toolchain().err().map(|error| error.to_string()))
}

/// Why nothing for arm64 can be run by qemu-user here.
pub(crate) fn user_obstacle() -> Option<String> {
    let missing = (!run::is_installed(QEMU_USER)).then(|| format!("no {QEMU_USER}; `cargo xtask setup` installs it"));
    obstacle().or(missing)
}

/// Unpacks the C compiler, and the standard library for Debian's Rust compiler unless rustup has one.
pub(crate) fn prepare() -> Result<()> {
    if !run::is_installed(GCC) {
        gcc().make(|folder| {
            let packages = gcc_packages();
            debian::unpack_alone(&packages.iter().map(String::as_str).collect::<Vec<_>>(), folder)?;
            // The compiler looks for the assembler and the C library beside itself.
            symlink(LIBRARIES, folder.join(&LIBRARIES[1..])).context("cannot link the C library")
        })?;
    }
    if rustup_has_target() {
        return Ok(());
    }
    let DebiansRust { compiler, library: standard, .. } = debians_rust();
    let version = debian::version(compiler).with_context(|| format!("the package {compiler} is not installed"))?;
    let package = format!("{standard}:arm64={version}");
    library(&version).make(|folder| debian::unpack_alone(&[&package], folder))
}

/// `cargo ARGUMENTS` for arm64, in a target folder of its own.
pub(crate) fn cargo(arguments: &[&str]) -> Result<Command> {
    let mut command = run::cargo(arguments);
    command.args(["--target", TARGET, "--target-dir"]).arg(target_folder());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([gcc_folder()]);
    command.env("PATH", std::env::join_paths(folders).context("PATH")?);
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", GCC);
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", runner().join(" "));
    if let Toolchain::Debian(library) = toolchain()? {
        command.env("RUSTC", DEBIANS_RUSTC).env("RUSTDOC", DEBIANS_RUSTDOC).env_remove("RUSTFLAGS");
        command.env("CARGO_ENCODED_RUSTFLAGS", format!("--sysroot\u{1f}{}", library.join("usr").display()));
    }
    Ok(command)
}

/// The command that runs a program for arm64 which traces no other.
pub(crate) fn runner() -> [&'static str; 3] {
    [QEMU_USER, "-L", LIBRARIES]
}

/// The target folder of that cargo.
pub(crate) fn target_folder() -> PathBuf {
    run::root().join("target/arm64")
}

/// The folder of the unpacked C compiler. It stands in PATH behind that of an installed one.
pub(crate) fn gcc_folder() -> PathBuf {
    gcc().folder().join("usr/bin")
}

fn gcc() -> Entry {
    Entry::of(format!("tools/gcc-arm64-{}", cache::key(&[GCC_PACKAGE])))
}

/// [`GCC_PACKAGE`], and the compiler, preprocessor and library of the version that it depends on.
fn gcc_packages() -> Vec<String> {
    let version = debian::dependencies(GCC_PACKAGE)
        .iter()
        .find_map(|name| Some(name.strip_prefix("gcc-")?.strip_suffix("-aarch64-linux-gnu")?.to_owned()));
    let version = version.unwrap_or_default();
    let parts = ["gcc-V-aarch64-linux-gnu", "cpp-V-aarch64-linux-gnu", "libgcc-V-dev-arm64-cross"];
    [GCC_PACKAGE.to_owned()].into_iter().chain(parts.map(|part| part.replace('V', &version))).collect()
}

fn toolchain() -> Result<Toolchain> {
    if rustup_has_target() {
        return Ok(Toolchain::Rustup);
    }
    let version = debian::version(debians_rust().compiler).filter(|_| Path::new(DEBIANS_RUSTC).exists());
    let version = version.context("no Rust compiler for arm64; `cargo xtask setup` installs one")?;
    is_new_enough(&version)?;
    let library = library(&version);
    let is_there = library.is_complete().then(|| library.folder().to_path_buf());
    is_there.map(Toolchain::Debian).context("no standard library for arm64; `cargo xtask setup` brings it")
}

/// Fails if Debian's compiler is older than the workspace's `rust-version`.
pub(crate) fn is_new_enough(debians: &str) -> Result<()> {
    let wanted = env!("CARGO_PKG_RUST_VERSION");
    if numbers(debians) < numbers(wanted) {
        bail!(
            "Debian's {} is {debians} and {wanted} is needed: let apt read this release's security suite, and upgrade",
            debians_rust().compiler
        );
    }
    Ok(())
}

/// The major and the minor number of a version.
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '+', '-', '~']).take(2).map_while(|number| number.parse().ok()).collect()
}

fn rustup_has_target() -> bool {
    let listed = run::output(Command::new("rustup").args(["target", "list", "--installed"]).current_dir(run::root()));
    listed.is_ok_and(|text| text.lines().any(|line| line == TARGET))
}

fn library(version: &str) -> Entry {
    Entry::of(format!("rust/arm64-{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_too_old_is_refused_by_its_version() {
        assert!(is_new_enough("1.63.0+dfsg1-2").unwrap_err().to_string().contains("1.63.0"));
        for version in [env!("CARGO_PKG_RUST_VERSION"), "1.100.0+dfsg1-1", "2.0.0-1"] {
            assert!(is_new_enough(version).is_ok(), "{version}");
        }
    }
}
