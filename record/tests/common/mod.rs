//! Programs built by gcc, for the tests that record them.
#![allow(unreachable_pub)]

#[cfg(target_arch = "aarch64")]
#[path = "arm64.rs"]
pub(crate) mod machine;
#[cfg(target_arch = "x86_64")]
#[path = "x86.rs"]
pub(crate) mod machine;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Builds a program; `None`, said loudly, where this machine's compiler cannot.
pub(crate) fn build(name: &str, flags: &[&str]) -> Option<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}-{name}", std::process::id()));
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let folders = [programs.join(machine::FOLDER), programs];
    let sources = folders.iter().map(|folder| folder.join(name).with_extension("c"));
    let source = { sources }.find(|source| source.exists()).expect("a program of that name");
    let done = Command::new("gcc").arg("-O1").arg(source).arg("-o").arg(&out).args(flags).output().expect("gcc runs");
    if done.status.success() {
        return Some(out);
    }
    let error = String::from_utf8_lossy(&done.stderr);
    crossing::skip(
        &format!("record, with {name}"),
        format_args!("gcc {flags:?}: {}", error.lines().next().unwrap_or("")),
    );
    None
}
