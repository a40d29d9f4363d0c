// SPDX-License-Identifier: GPL-2.0

//! How a thread passes a breakpoint. Apart from the rest of the module, as it is compiled for speed: all of it is done at a hit.

#![no_std]

pub mod arch;
mod hit;
mod storage;
mod user;

pub use arch::{Modes, Registers};
pub use hit::{find, gone, hit, run, Act, Hit, ALL};
pub use storage::{mark, Full, Storage, Storages};
pub use user::{read, Part};
