//! What the tests share: programs built by gcc, recordings, and what the checker says of them.
// Each test program uses a part of it.
#![allow(dead_code, unreachable_pub)]

#[cfg(target_arch = "aarch64")]
#[path = "arm64.rs"]
pub(crate) mod machine;
#[cfg(target_arch = "x86_64")]
#[path = "x86.rs"]
pub(crate) mod machine;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use record::{Checker, Item, read};

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

/// The items of a whole trace.
pub(crate) fn items(trace: &[u8]) -> Vec<Item> {
    let mut reader = read(trace).expect("a header");
    let items = reader.by_ref().map(|item| item.expect("a whole trace")).collect();
    assert!(reader.is_complete());
    items
}

/// What `insn` and the processor differ in, and how many steps were compared.
pub(crate) fn check(trace: &[u8]) -> (Vec<String>, u64) {
    let reader = read(trace).expect("a header");
    let mut checker = Checker::new(reader.header());
    let wrong = items(trace).iter().filter_map(|item| checker.item(item)).map(|wrong| wrong.to_string()).collect();
    (wrong, checker.checked())
}
