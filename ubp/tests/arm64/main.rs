//! What only AArch64 has: its instructions' faults and traps, instructions at multiples of four.
#![cfg(target_arch = "aarch64")]

#[path = "../common/mod.rs"]
mod common;
mod exclusive;
mod far;
mod guarded;
mod landing;
mod signals;
mod writes;
