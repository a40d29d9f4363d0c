//! What only x86-64 has: 32-bit programs, its instructions' faults and traps, instructions of any length.
#![cfg(target_arch = "x86_64")]

#[path = "../common/mod.rs"]
mod common;
mod kinds;
mod signals;
mod writes;
