//! The system packages that tests and benchmarks need.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::run;

/// A Debian package, how its presence is seen, and what needs it.
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
    Package { name: "linux-source", sign: "/usr/share/doc/linux-source", why: "the kernel's selftests of x86" },
    Package { name: "sqlite3", sign: "sqlite3", why: "whole programs with sites everywhere" },
    Package { name: "luajit", sign: "luajit", why: "whole programs with sites everywhere: code made while it runs" },
    Package { name: "golang-go", sign: "go", why: "whole programs with sites everywhere: goroutines" },
    Package { name: "gdb", sign: "gdb", why: "whole programs with sites everywhere" },
    Package { name: "cmake", sign: "cmake", why: "building Zydis, a peer" },
    Package { name: "linux-perf", sign: "perf", why: "the kernel's own probes, to compare counts with" },
];

/// What `cargo xtask bench` needs beside.
pub(crate) const FOR_BENCHMARKS: &[Package] =
    &[Package { name: "cmake", sign: "cmake", why: "building Zydis, a peer" }];

/// What `cargo xtask coverage` needs beside; a newer rustc needs a newer LLVM, or rustup's component `llvm-tools`.
pub(crate) const FOR_COVERAGE: &[Package] =
    &[Package { name: "llvm-22", sign: "llvm-cov-22", why: "reading the profiles of an instrumented program" }];

/// The names of those that are missing, with what needs them.
pub(crate) fn missing(packages: &[Package]) -> Vec<(&'static str, &'static str)> {
    packages.iter().filter(|package| !is_present(package.sign)).map(|package| (package.name, package.why)).collect()
}

/// Those of the tests' packages that are missing.
pub(crate) fn missing_for_tests() -> Vec<(&'static str, &'static str)> {
    missing(FOR_TESTS)
}

/// Installs what the tests need and is missing.
pub(crate) fn run() -> Result<()> {
    install(FOR_TESTS)
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
    run::run(apt(&["update", "-q"])?.env("DEBIAN_FRONTEND", "noninteractive"))?;
    let mut arguments = vec!["install", "-q", "-y", "--no-install-recommends"];
    arguments.extend(missing.iter().map(|(name, _)| *name));
    run::run(apt(&arguments)?.env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Installs a subcommand of cargo where it is missing.
pub(crate) fn install_tool(name: &str) -> Result<()> {
    if run::is_installed(name) {
        return Ok(());
    }
    run::run(&mut run::cargo(&["install", "--locked", name]))
}

fn apt(arguments: &[&str]) -> Result<Command> {
    let is_root = run::output(Command::new("id").arg("-u"))?.trim() == "0";
    let mut command = if is_root {
        Command::new("apt-get")
    } else if run::is_installed("sudo") {
        let mut sudo = Command::new("sudo");
        sudo.args(["--preserve-env=DEBIAN_FRONTEND", "apt-get"]);
        sudo
    } else {
        bail!("installing packages needs root, and there is no sudo");
    };
    command.args(arguments);
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
