//! What hits of the kernel module read without a lock (`kmod/fastpath/lockfree`), on the atomics of loom. Its tests try each order of steps and
//! each value that a read may give by the memory model of C and Rust.
#![allow(clippy::new_without_default, reason = "the module asks for no defaults")]

mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
}
#[path = "../../../kmod/fastpath/lockfree/mod.rs"]
pub mod lockfree;
