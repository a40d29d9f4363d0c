//! Building debuggees.
#![allow(dead_code, unreachable_pub, reason = "every test file uses another part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The source of a program.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Builds a program with debug information, and returns its path.
pub fn build(name: &str, flags: &[&str]) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{number}", std::process::id()));
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O1", "-o"]).arg(&out).arg(source(name)).args(flags);
    assert!(gcc.status().expect("gcc is needed to build the debuggees").success(), "gcc failed on {name}");
    out
}

/// The line of a program's source that a comment marks.
pub fn marked(name: &str, mark: &str) -> u64 {
    let text = std::fs::read_to_string(source(name)).unwrap();
    let line = text.lines().position(|line| line.contains(&format!("/* {mark} */"))).expect("a marked line");
    line as u64 + 1
}
