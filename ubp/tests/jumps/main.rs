//! Breakpoints by jumps: they count as breakpoint instructions do, and the program sees none of it.
#![cfg(target_arch = "x86_64")]

#[path = "../common/mod.rs"]
mod common;
mod counts;
mod covered;
mod killed;
mod life;
mod signals;

use ubp::{Address, Patch, Session, Spec};

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
