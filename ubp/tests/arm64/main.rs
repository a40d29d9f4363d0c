//! Tests for AArch64 alone: faults and traps of instructions, alignment of instructions.
#![cfg(target_arch = "aarch64")]

#[path = "../common/mod.rs"]
mod common;
mod exclusive;
mod far;
mod guarded;
mod landing;
mod signals;
mod writes;
