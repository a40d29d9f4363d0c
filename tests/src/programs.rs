//! Programs and libraries whose code tests only read, to compare decoders over it.

use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol};

/// Found on any Debian of x86-64, or not: each alone is enough.
const X86: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/bin/bash",
    "/usr/bin/gdb",
    "/usr/bin/git",
    "/usr/bin/perf",
    "/usr/bin/python3.11",
    "/usr/bin/python3.13",
];
/// The variable that names a folder of Debian's packages for arm64, unpacked; xtask's tasks set it.
const ARM64_ROOT: &str = "NTRACE_ARM64_ROOT";
/// Below that folder, where Debian 12 or 13 has them.
const ARM64: &[&str] = &[
    "lib/aarch64-linux-gnu/libc.so.6",
    "usr/lib/aarch64-linux-gnu/libc.so.6",
    "usr/lib/aarch64-linux-gnu/libcrypto.so.3",
    "usr/lib/aarch64-linux-gnu/libstdc++.so.6",
    "bin/bash",
    "usr/bin/bash",
    "usr/bin/git",
    "usr/bin/python3.11",
    "usr/bin/python3.13",
];

/// Those of x86-64 that are installed.
pub fn of_x86() -> Vec<PathBuf> {
    X86.iter().map(PathBuf::from).filter(|path| path.exists()).collect()
}

/// Those of arm64 that are there; none is where the variable names no folder.
pub fn of_arm64() -> Vec<PathBuf> {
    let root = std::env::var_os(ARM64_ROOT).map(PathBuf::from).unwrap_or_default();
    ARM64.iter().map(|path| root.join(path)).filter(|path| path.is_absolute() && path.exists()).collect()
}

/// The bytes of `.text`.
///
/// # Errors
/// The file cannot be read, is no object file, or has no such section.
pub fn text(path: &Path) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let file = std::fs::read(path)?;
    let object = object::File::parse(&*file)?;
    Ok(object.section_by_name(".text").ok_or("no .text")?.data()?.to_vec())
}

/// Where the functions that a file exports begin in its `.text`, in order.
///
/// # Errors
/// The file cannot be read, is no object file, or has no such section.
pub fn functions(path: &Path) -> Result<Vec<usize>, Box<dyn std::error::Error + Send + Sync>> {
    let file = std::fs::read(path)?;
    let object = object::File::parse(&*file)?;
    let text = object.section_by_name(".text").ok_or("no .text")?;
    let exported = object.dynamic_symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text);
    let offsets = exported.filter_map(|symbol| symbol.address().checked_sub(text.address()));
    let mut offsets: Vec<usize> = offsets.filter(|at| *at < text.size()).map(|at| at as usize).collect();
    offsets.sort_unstable();
    offsets.dedup();
    Ok(offsets)
}
