// SPDX-License-Identifier: GPL-2.0

//! The fast path of a breakpoint: what every hit does. It is a crate of its own because it is compiled for speed, and the rest of the
//! module for size.

#![no_std]

pub mod arch;
mod atomic {
    pub(crate) use core::sync::atomic::{fence, AtomicPtr, AtomicU32, AtomicU64, Ordering};
}
mod hit;
pub mod lockfree;
mod storage;
mod user;

pub use arch::{Modes, Registers};
pub use hit::{find, gone, hit, run, Act, Hit, ALL, BUDGET};
pub use storage::{mark, Full, Storage, Storages};
pub use user::{add, read, Part};

/// `struct mm_struct`, known by its address alone. The kernel makes all there are.
#[repr(C)]
pub struct Mm([u8; 0]);

/// Numbers of C: the enumerations and structures of shim.h, and constants of the kernel. Kbuild makes them of layout.c and registers.c.
#[allow(missing_docs)]
pub mod layout {
    include!(concat!(env!("NTRACE_OBJ"), "/layout.rs"));
}

/// The whole groups of `N` elements that a slice begins with: `as_chunks`, which Rust 1.85 lacks.
pub fn chunks<T, const N: usize>(slice: &[T]) -> &[[T; N]] {
    const { assert!(N > 0) };
    // SAFETY: an array of N elements is laid out as N elements in a row, and `len / N` such arrays do not reach beyond the slice.
    unsafe { core::slice::from_raw_parts(slice.as_ptr().cast(), slice.len() / N) }
}
