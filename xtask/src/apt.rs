//! Debian packages: which are missing, and installing them.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{debian, run};

/// A Debian package, the sign of its presence, and what needs it.
#[derive(Clone, Copy)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    /// A program in PATH, or an absolute path.
    pub(crate) sign: &'static str,
    pub(crate) why: &'static str,
}

/// A package, and another one that must be of the same release to be installed beside it.
const ONE_RELEASE: &[(&str, &str)] = &[("qemu-system-x86", "qemu-utils")];

/// What `cargo xtask bench` needs in addition.
pub(crate) const FOR_BENCHMARKS: &[Package] = &[
    CMAKE,
    LIBCLANG,
    Package { name: "gdb", sign: "gdb", why: "a recorder, a peer" },
    Package { name: "gdbserver", sign: "gdbserver", why: "a peer" },
    Package { name: "valgrind", sign: "valgrind", why: "a recorder, a peer" },
    Package { name: "ltrace", sign: "ltrace", why: "a peer" },
    Package { name: "linux-perf", sign: "perf", why: "a peer" },
    Package { name: "bpftrace", sign: "bpftrace", why: "a peer" },
];
/// What builds the peers that are written in C.
pub(crate) const CMAKE: Package = Package { name: "cmake", sign: "cmake", why: "building Zydis, a peer" };
pub(crate) const LIBCLANG: Package =
    Package { name: "libclang-dev", sign: "/usr/share/doc/libclang-dev", why: "building bad64, a peer" };

/// Whether bad64 can be built.
pub(crate) fn has_libclang() -> bool {
    is_present(LIBCLANG.sign)
}

/// What debug kernels need in addition.
pub(crate) const FOR_DEBUG_KERNELS: &[Package] = &[
    Package { name: "clang", sign: "clang", why: "debug kernels" },
    Package { name: "lld", sign: "ld.lld", why: "debug kernels" },
    Package { name: "llvm", sign: "llvm-objcopy", why: "debug kernels" },
];

/// What `cargo xtask coverage` needs in addition. A newer rustc needs a newer LLVM, or rustup's component `llvm-tools`.
pub(crate) const FOR_COVERAGE: &[Package] =
    &[Package { name: "llvm-22", sign: "llvm-cov-22", why: "reading the profiles of an instrumented program" }];

/// The names of the missing packages, with what needs them.
pub(crate) fn missing(packages: &[Package]) -> Vec<(&'static str, &'static str)> {
    packages.iter().filter(|package| !is_present(package.sign)).map(|package| (package.name, package.why)).collect()
}

/// Lets apt find packages of another architecture.
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

/// Whether packages can be installed without asking the user for a password.
pub(crate) fn may_install() -> bool {
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
