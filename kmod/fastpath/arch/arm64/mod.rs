// SPDX-License-Identifier: GPL-2.0

//! AArch64.

mod registers;

use core::arch::asm;

pub use ubp::arch::{reaches, PAGE, REACH};
use ubp::arch::{Mode, BREAKPOINT};

pub use self::registers::Registers;
use crate::{layout, Mm};

/// ELF's e_machine.
pub const MACHINE: u64 = layout::NTRACE_MACHINE;

/// The instructions by which a program makes a system call.
pub const SYSCALLS: &[&[u8]] = &[&[0x01, 0x00, 0x00, 0xd4]];
/// The breakpoint instruction of uprobes.
pub const UPROBE: [u8; 4] = (layout::NTRACE_UPROBE_INSTRUCTION as u32).to_le_bytes();

const _: () = assert!(u32::from_le_bytes(BREAKPOINT) as u64 == layout::NTRACE_BREAKPOINT_INSTRUCTION);

/// The protection bit of guarded pages (`PROT_BTI`).
pub const GUARDED: u64 = layout::NTRACE_GUARDED;

/// How the processor reads code, which is the same everywhere.
#[derive(Clone, Copy)]
pub struct Modes;

impl Modes {
    /// The only mode.
    pub fn of_this_machine() -> Modes {
        Modes
    }
}

/// How the processor reads the code of a process.
pub fn mode(_: &Mm) -> Mode {
    Mode
}

/// The first address behind a process' last one. Kernels with 52 bits give out higher ones on demand only
/// (Documentation/arch/arm64/memory.rst).
pub fn end(_: &Mm) -> u64 {
    1 << 48
}

/// An index that is less than `size`, also where the processor goes on before it knows that (Spectre 1): then it is 0. As
/// `array_index_nospec` in C.
pub fn within(index: usize, size: usize) -> usize {
    let mask: usize;
    // SAFETY: the instructions read and write registers and flags alone.
    unsafe {
        asm!("cmp {index}, {size}", "sbc {mask}, xzr, xzr", "csdb", index = in(reg) index, size = in(reg) size,
            mask = lateout(reg) mask, options(pure, nomem, nostack))
    };
    index & mask
}
