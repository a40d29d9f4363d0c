// SPDX-License-Identifier: GPL-2.0

//! AArch64.

mod registers;

use core::ffi::c_void;
use ubp::arch::Mode;
pub use ubp::arch::{reaches, PAGE, REACH};

pub use self::registers::Registers;

/// ELF's e_machine.
pub const MACHINE: u64 = 183;

/// What uprobes put into code (arch/arm64/include/asm/brk-imm.h).
pub const UPROBE: [u8; 4] = 0xd420_00a0_u32.to_le_bytes();

/// What an mmap(2) of guarded pages asks for (`PROT_BTI`, arch/arm64/include/uapi/asm/mman.h).
pub const GUARDED: u64 = 0x10;

/// How this machine reads code: there is one way.
#[derive(Clone, Copy)]
pub struct Modes;

impl Modes {
    /// The one.
    pub fn of_this_machine() -> Modes {
        Modes
    }
}

/// How the code of a process is read.
pub fn mode(_: *const c_void) -> Mode {
    Mode
}

/// Behind the last address of a process; where the kernel has 52 bits, it gives out higher ones on demand only
/// (Documentation/arch/arm64/memory.rst).
pub fn end(_: *const c_void) -> u64 {
    1 << 48
}
