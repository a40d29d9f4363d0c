//! Tests for x86-64 alone: 32-bit programs, faults and traps of instructions, instructions of any length.
#![cfg(target_arch = "x86_64")]

#[path = "../common/mod.rs"]
mod common;
mod kinds;
mod register_sets;
mod registers;
mod signals;
mod watched;
mod writes;
