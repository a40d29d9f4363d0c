//! The system packages that tests and benchmarks need.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{assembler, cross, debian, oldest, programs, run, vm};

/// A Debian package, how its presence is seen, and what needs it.
#[derive(Clone, Copy)]
pub(crate) struct Package {
    name: &'static str,
    /// A program in PATH, or an absolute path.
    sign: &'static str,
    why: &'static str,
}

/// What `cargo xtask test` needs.
const FOR_TESTS: &[Package] = &[
    Package { name: "gcc", sign: "gcc", why: "test programs in C, linking" },
    Package { name: "libc6-dev", sign: "/usr/include/stdio.h", why: "test programs in C" },
    Package { name: "gcc-multilib", sign: "/usr/include/asm", why: "test programs for i386" },
    Package { name: "libc6-dev-i386", sign: "/usr/lib32/crt1.o", why: "test programs for i386" },
    Package { name: "g++", sign: "g++", why: "test programs in C++" },
    Package { name: "binutils", sign: "objdump", why: "looking into linked objects" },
    Package { name: "sqlite3", sign: "sqlite3", why: "whole programs with sites everywhere" },
    Package { name: "luajit", sign: "luajit", why: "whole programs with sites everywhere: code made while it runs" },
    Package { name: "golang-go", sign: "go", why: "whole programs with sites everywhere: goroutines" },
    Package { name: "gdb", sign: "gdb", why: "whole programs with sites everywhere" },
    Package { name: "nodejs", sign: "node", why: "whole programs with sites everywhere: code made while it runs" },
    CMAKE,
    LIBCLANG,
    Package { name: "linux-perf", sign: "perf", why: "the kernel's own probes, to compare counts with" },
];

/// What the lanes of arm64 need beside.
const FOR_ARM64: &[Package] = &[
    Package { name: "binutils-aarch64-linux-gnu", sign: "aarch64-linux-gnu-ld", why: "building for arm64" },
    Package { name: "libc6-dev-arm64-cross", sign: "/usr/aarch64-linux-gnu/lib/crt1.o", why: "building for arm64" },
    Package {
        name: "libgcc-s1-arm64-cross",
        sign: "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1",
        why: "building for arm64",
    },
    Package { name: "rustc-web", sign: cross::DEBIANS_RUSTC, why: "building for arm64, and kernels" },
    Package { name: "qemu-user-static", sign: "qemu-aarch64-static", why: "tests on arm64" },
];

/// What `cargo xtask vm` and the lanes in virtual machines need beside.
const FOR_VM: &[Package] = &[
    Package { name: "qemu-system-arm", sign: "qemu-system-aarch64", why: "virtual machines of arm64" },
    Package { name: "qemu-system-x86", sign: "qemu-system-x86_64", why: "virtual machines of x86-64" },
    Package { name: "rust-web-src", sign: "/usr/share/doc/rust-web-src", why: "kernels with modules in Rust" },
    Package { name: "libclang-dev", sign: "/usr/share/doc/libclang-dev", why: "kernels with modules in Rust" },
    Package { name: "make", sign: "make", why: "kernels" },
    Package { name: "flex", sign: "flex", why: "kernels" },
    Package { name: "bison", sign: "bison", why: "kernels" },
    Package { name: "bc", sign: "bc", why: "kernels" },
    Package { name: "libelf-dev", sign: "/usr/include/libelf.h", why: "kernels" },
    Package { name: "libssl-dev", sign: "/usr/include/openssl/ssl.h", why: "kernels" },
    Package { name: "xz-utils", sign: "xz", why: "kernels" },
];

/// A package, and another one that it cannot be installed beside unless both are of the same release.
const ONE_RELEASE: &[(&str, &str)] = &[("qemu-system-x86", "qemu-utils")];

/// What `cargo xtask bench` needs beside.
pub(crate) const FOR_BENCHMARKS: &[Package] = &[
    CMAKE,
    LIBCLANG,
    Package { name: "gdb", sign: "gdb", why: "a recorder, a peer" },
    Package { name: "valgrind", sign: "valgrind", why: "a recorder, a peer" },
];
/// What the peers that are written in C are built with.
const CMAKE: Package = Package { name: "cmake", sign: "cmake", why: "building Zydis, a peer" };
const LIBCLANG: Package =
    Package { name: "libclang-dev", sign: "/usr/share/doc/libclang-dev", why: "building bad64, a peer" };

/// Whether bad64 can be built.
pub(crate) fn has_libclang() -> bool {
    is_present(LIBCLANG.sign)
}

/// What debug kernels need beside.
pub(crate) const FOR_DEBUG_KERNELS: &[Package] = &[
    Package { name: "clang", sign: "clang", why: "debug kernels" },
    Package { name: "lld", sign: "ld.lld", why: "debug kernels" },
    Package { name: "llvm", sign: "llvm-objcopy", why: "debug kernels" },
];

/// What `cargo xtask coverage` needs beside; a newer rustc needs a newer LLVM, or rustup's component `llvm-tools`.
pub(crate) const FOR_COVERAGE: &[Package] =
    &[Package { name: "llvm-22", sign: "llvm-cov-22", why: "reading the profiles of an instrumented program" }];

/// The names of those that are missing, with what needs them.
fn missing(packages: &[Package]) -> Vec<(&'static str, &'static str)> {
    packages.iter().filter(|package| !is_present(package.sign)).map(|package| (package.name, package.why)).collect()
}

/// The same as [`run()`] before tests. Who may not install packages learns which are missing; lanes that need them are skipped.
pub(crate) fn run_for_tests() -> Result<()> {
    if may_install() {
        return run();
    }
    let missing: Vec<&str> = missing(&for_tests()).into_iter().map(|(name, _)| name).collect();
    if !missing.is_empty() {
        eprintln!("setup: you are not root and cannot use sudo; have these packages installed: {}", missing.join(" "));
    }
    if let Err(error) = bring() {
        eprintln!("setup: what the cache keeps is not complete: {error:#}");
    }
    Ok(())
}

/// Installs what the tests need and is missing, and brings what is not installed but kept in the cache.
pub(crate) fn run() -> Result<()> {
    install(&for_tests())?;
    bring()
}

/// Brings what is not installed but kept in the cache.
fn bring() -> Result<()> {
    if !is_host() || !run::is_installed("apt-get") {
        return Ok(());
    }
    // Without one of these a lane is skipped.
    if let Err(error) = assembler::bring() {
        eprintln!("setup: no llvm-mc to compare decoders with: {error:#}");
    }
    if let Err(error) = oldest::bring() {
        eprintln!("setup: no Rust of Debian 13 to build by: {error:#}");
    }
    add_architecture("arm64")?;
    cross::prepare()?;
    programs::prepare()?;
    vm::prepare()
}

/// Whether this is a machine that the lanes of other architectures are made for.
pub(crate) fn is_host() -> bool {
    std::env::consts::ARCH == "x86_64"
}

fn for_tests() -> Vec<Package> {
    let others: &[&[Package]] = if is_host() { &[FOR_ARM64, FOR_VM] } else { &[] };
    [&[FOR_TESTS], others].concat().concat()
}

/// Lets packages of another architecture be found.
pub(crate) fn add_architecture(architecture: &str) -> Result<()> {
    if debian::knows(architecture) {
        return Ok(());
    }
    run::run(as_root("dpkg")?.args(["--add-architecture", architecture]))?;
    run::run(as_root("apt-get")?.args(["update", "-q"]))
}

/// Installs those of `packages` that are missing.
pub(crate) fn install(packages: &[Package]) -> Result<()> {
    let missing = missing(packages);
    if missing.is_empty() {
        eprintln!("setup: every package is there");
        return Ok(());
    }
    for (name, why) in &missing {
        eprintln!("setup: {name} is missing ({why})");
    }
    if !run::is_installed("apt-get") {
        bail!("no apt-get here: install the packages above by this system's own means");
    }
    run::run(as_root("apt-get")?.args(["update", "-q"]))?;
    let mut apt_get = as_root("apt-get")?;
    apt_get.args(["install", "-q", "-y", "--no-install-recommends", "--no-remove"]);
    for (wanted, name) in ONE_RELEASE {
        let Some(version) = debian::version_to_return_to(name) else { continue };
        if missing.iter().any(|(missing, _)| missing == wanted) {
            eprintln!("setup: {name} is of another release than {wanted} and returns to {version}");
            apt_get.arg("--allow-downgrades").arg(format!("{name}={version}"));
        }
    }
    run::run(apt_get.args(missing.iter().map(|(name, _)| *name)))
}

/// Installs a subcommand of cargo where it is missing.
pub(crate) fn install_tool(name: &str) -> Result<()> {
    if run::is_installed(name) {
        return Ok(());
    }
    run::run(&mut run::cargo(&["install", "--locked", name]))
}

/// Whether packages can be installed without asking the user for a password.
fn may_install() -> bool {
    is_root() || run::output(Command::new("sudo").args(["--non-interactive", "true"])).is_ok()
}

fn is_root() -> bool {
    run::output(Command::new("id").arg("-u")).is_ok_and(|number| number.trim() == "0")
}

fn as_root(program: &str) -> Result<Command> {
    let mut command = if is_root() {
        Command::new(program)
    } else if run::is_installed("sudo") {
        let mut sudo = Command::new("sudo");
        sudo.args(["--preserve-env=DEBIAN_FRONTEND", program]);
        sudo
    } else {
        bail!("installing packages needs root, and there is no sudo");
    };
    command.env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

fn is_present(sign: &str) -> bool {
    if sign.starts_with('/') { Path::new(sign).exists() } else { run::is_installed(sign) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_missing_when_neither_program_nor_file_is_there() {
        let here = Package { name: "a", sign: "sh", why: "" };
        let file = Package { name: "b", sign: "/proc/self/exe", why: "" };
        let gone = Package { name: "c", sign: "no-such-program-anywhere", why: "this test" };
        assert_eq!(missing(&[here, file, gone]), [("c", "this test")]);
    }
}
