//! Breakpoints by jumps: they count as breakpoint instructions do, and the program sees none of it.

mod arm64;
mod buffers;
#[path = "../common/mod.rs"]
mod common;
mod conditions;
mod counts;
mod covered;
mod further;
mod killed;
mod killed_covered;
mod life;
mod records;
mod signals;
mod stacks;
mod sum_places;
mod sums;

use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdout};

use ubp::{Address, Patch, Session, Spec};

use self::common::machine::KINDS;

/// The breakpoint by a jump where there can be one.
fn auto(spec: Spec) -> Spec {
    spec.patch(Patch::Auto)
}

/// A breakpoint that counts by a jump.
fn jump(address: Address) -> Spec {
    Spec::count(address).patch(Patch::Jump)
}

/// A session over ptrace without events of signals.
fn by_ptrace() -> Session {
    let mut options = ubp::Options::default();
    options.signals = false;
    Session::with_options(options).unwrap()
}

/// The same, for programs that outlive the tracer.
fn outlived() -> Session {
    let mut options = ubp::Options::default();
    (options.signals, options.exit_kill) = (false, false);
    Session::with_options(options).unwrap()
}

/// Lets a program end that waits for a byte, and returns what it writes.
fn end_of(mut child: Child, mut out: BufReader<ChildStdout>) -> String {
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}: {text}");
    text
}
