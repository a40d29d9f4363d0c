//! The system packages that tests and benchmarks need.

use std::path::Path;

use anyhow::Result;

use crate::apt::{self, CMAKE, LIBCLANG, Package};
use crate::{assembler, collectors, cross, debuginfod, lanes, oldest, programs, run, viewer, vm};

/// The client of debuginfod. Its package has another name in Debian 13, to which apt maps that of Debian 12.
const LIBDEBUGINFOD: &str = if cfg!(target_arch = "aarch64") {
    "/usr/lib/aarch64-linux-gnu/libdebuginfod.so.1"
} else {
    "/usr/lib/x86_64-linux-gnu/libdebuginfod.so.1"
};

/// What `cargo xtask test` needs.
const FOR_TESTS: &[Package] = &[
    Package { name: "gcc", sign: "gcc", why: "test programs in C, linking" },
    Package { name: "libc6-dev", sign: "/usr/include/stdio.h", why: "test programs in C" },
    Package { name: "gcc-multilib", sign: "/usr/include/asm", why: "test programs for i386" },
    Package { name: "libc6-dev-i386", sign: "/usr/lib32/crt1.o", why: "test programs for i386" },
    Package { name: "g++", sign: "g++", why: "test programs in C++" },
    Package { name: "rustfmt", sign: "rustfmt", why: "generated tables in Rust" },
    Package { name: "binutils", sign: "objdump", why: "looking into linked objects" },
    Package { name: "curl", sign: "curl", why: "commands of the guide" },
    Package { name: "iproute2", sign: "ip", why: "hosts with networks of their own" },
    Package { name: "sqlite3", sign: "sqlite3", why: "whole programs with sites everywhere" },
    Package { name: "luajit", sign: "luajit", why: "whole programs with sites everywhere: code made while it runs" },
    Package { name: "golang-go", sign: "go", why: "whole programs with sites everywhere: goroutines" },
    Package { name: "gdb", sign: "gdb", why: "whole programs with sites everywhere" },
    Package { name: "nodejs", sign: "node", why: "whole programs with sites everywhere: code made while it runs" },
    Package { name: "chromium", sign: "chromium", why: "looking at pictures in a browser" },
    Package { name: "tmux", sign: "tmux", why: "the terminal view in a terminal of its own kind" },
    Package { name: "libdebuginfod1", sign: LIBDEBUGINFOD, why: "fetching debug files" },
    CMAKE,
    LIBCLANG,
    Package { name: "linux-perf", sign: "perf", why: "the kernel's own probes, to compare counts with" },
];

/// What the lanes of arm64 need in addition.
const FOR_ARM64: &[Package] = &[
    Package { name: "binutils-aarch64-linux-gnu", sign: "aarch64-linux-gnu-ld", why: "building for arm64" },
    Package { name: "libc6-dev-arm64-cross", sign: "/usr/aarch64-linux-gnu/lib/crt1.o", why: "building for arm64" },
    Package {
        name: "libgcc-s1-arm64-cross",
        sign: "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1",
        why: "building for arm64",
    },
    Package { name: "qemu-user-static", sign: "qemu-aarch64-static", why: "tests on arm64" },
];

/// What `cargo xtask vm` and the lanes in virtual machines need in addition.
const FOR_VM: &[Package] = &[
    Package { name: "qemu-system-arm", sign: "qemu-system-aarch64", why: "virtual machines of arm64" },
    Package { name: "qemu-system-x86", sign: "qemu-system-x86_64", why: "virtual machines of x86-64" },
    Package { name: "libclang-dev", sign: "/usr/share/doc/libclang-dev", why: "kernels with modules in Rust" },
    Package { name: "make", sign: "make", why: "kernels" },
    Package { name: "flex", sign: "flex", why: "kernels" },
    Package { name: "bison", sign: "bison", why: "kernels" },
    Package { name: "bc", sign: "bc", why: "kernels" },
    Package { name: "libelf-dev", sign: "/usr/include/libelf.h", why: "kernels" },
    Package { name: "libssl-dev", sign: "/usr/include/openssl/ssl.h", why: "kernels" },
    Package { name: "xz-utils", sign: "xz", why: "kernels" },
];

/// Installs the missing packages that tests need. A user who may not install packages learns which are missing; lanes that need them are skipped.
pub(crate) fn install_for_tests() -> Result<()> {
    if apt::may_install() {
        apt::install(&for_tests())?;
        if cross::is_host() && run::is_installed("apt-get") {
            apt::add_architecture("arm64")?;
        }
        return Ok(());
    }
    let missing: Vec<&str> = apt::missing(&for_tests()).into_iter().map(|(name, _)| name).collect();
    if !missing.is_empty() {
        eprintln!("setup: you are not root and cannot use sudo; have these packages installed: {}", missing.join(" "));
    }
    Ok(())
}

/// Fills the cache, for lanes. Where packages cannot be installed it may stay incomplete, and the lanes that need what is missing are skipped: the
/// reason is returned.
pub(crate) fn fill() -> Result<Option<String>> {
    match bring() {
        Err(error) if !apt::may_install() => Ok(Some(format!("{error:#}"))),
        done => done.map(|()| None),
    }
}

/// The lane that fills the cache.
pub(crate) fn fill_lane(ledger: &Path) -> Result<()> {
    fill()?.map_or(Ok(()), |missing| lanes::note_skipped(ledger, "a part of the cache", &missing))
}

/// Installs the missing packages that tests need, and fills the cache.
pub(crate) fn run() -> Result<()> {
    apt::install(&for_tests())?;
    bring()
}

/// Fills the cache with what is unpacked rather than installed.
fn bring() -> Result<()> {
    if !cross::is_host() || !run::is_installed("apt-get") {
        return Ok(());
    }
    // Without one of these a lane or a test is skipped.
    if let Err(error) = assembler::bring() {
        eprintln!("setup: no llvm-mc to compare decoders with: {error:#}");
    }
    if let Err(error) = oldest::bring() {
        eprintln!("setup: no Rust of Debian 13 to build by: {error:#}");
    }
    // Without one of these tests are skipped.
    if let Err(error) = viewer::bring() {
        eprintln!("setup: no speedscope to look at pictures with: {error:#}");
    }
    if let Err(error) = debuginfod::bring() {
        eprintln!("setup: no server of debug files to fetch from: {error:#}");
    }
    if let Err(error) = collectors::bring() {
        eprintln!("setup: no collector to send numbers to: {error:#}");
    }
    apt::add_architecture("arm64")?;
    cross::prepare()?;
    programs::prepare()?;
    vm::prepare()
}

fn for_tests() -> Vec<Package> {
    if !cross::is_host() {
        return FOR_TESTS.to_vec();
    }
    [FOR_TESTS, FOR_ARM64, FOR_VM, &debians_rust()].concat()
}

/// Debian's Rust compiler, for arm64 and kernels.
fn debians_rust() -> [Package; 2] {
    let cross::DebiansRust { compiler, source, source_sign, .. } = cross::debians_rust();
    [
        Package { name: compiler, sign: cross::DEBIANS_RUSTC, why: "building for arm64, and kernels" },
        Package { name: source, sign: source_sign, why: "kernels with modules in Rust" },
    ]
}
