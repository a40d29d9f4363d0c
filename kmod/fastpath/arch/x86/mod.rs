// SPDX-License-Identifier: GPL-2.0

//! x86-64.

mod registers;

use core::arch::asm;
use core::ffi::c_ulong;
use ubp::arch::Mode;
pub use ubp::arch::{reaches, PAGE, REACH};

pub use self::registers::Registers;
use crate::{layout, Mm};

/// ELF's e_machine.
pub const MACHINE: u64 = layout::NTRACE_MACHINE;

/// The instructions by which a program makes a system call.
pub const SYSCALLS: &[&[u8]] = &[&[0x0f, 0x05], &[0x0f, 0x34], &[0xcd, 0x80]];
/// The breakpoint instruction of uprobes. Programs may have the same one of their own.
pub const UPROBE: [u8; 1] = [layout::NTRACE_UPROBE_INSTRUCTION as u8];

extern "C" {
    fn ntrace_memory_is_narrow(mm: *const Mm) -> bool;
    fn ntrace_cpu_is_amd() -> bool;
    fn ntrace_cpu_address_bits() -> c_ulong;
    fn ntrace_base(gs: bool) -> c_ulong;
}

/// How the processor reads code: vendors differ.
#[derive(Clone, Copy)]
pub struct Modes {
    amd: bool,
}

impl Modes {
    /// The modes of the processor.
    pub fn of_this_machine() -> Modes {
        // SAFETY: the function reads a variable of the kernel that never changes.
        Modes { amd: unsafe { ntrace_cpu_is_amd() } }
    }

    fn of(self, narrow: bool) -> Mode {
        match (self.amd, narrow) {
            (true, false) => const { Mode::AMD_64.lenient() },
            (true, true) => const { Mode::AMD_32.lenient() },
            (false, false) => const { Mode::INTEL_64.lenient() },
            (false, true) => const { Mode::INTEL_32.lenient() },
        }
    }
}

/// How the processor reads the code of a process.
pub fn mode(mm: &Mm) -> Mode {
    Modes::of_this_machine().of(is_narrow(mm))
}

fn is_narrow(mm: &Mm) -> bool {
    // SAFETY: `mm` refers to a structure of the kernel. The function reads a flag that exec alone sets.
    unsafe { ntrace_memory_is_narrow(mm) }
}

/// The protection bit of guarded pages, which x86 lacks.
pub const GUARDED: u64 = 0;

/// The first address behind a process' last one: 47 bits less a guard page, or 4 GiB less some pages for 32-bit programs.
pub fn end(mm: &Mm) -> u64 {
    if is_narrow(mm) {
        0xffff_d000
    } else {
        0x7fff_ffff_f000
    }
}

/// An index that is less than `size`, also where the processor goes on before it knows that (Spectre 1): then it is 0. As
/// `array_index_nospec` in C.
pub fn within(index: usize, size: usize) -> usize {
    let mask: usize;
    // SAFETY: the instructions read and write registers and flags alone.
    unsafe {
        asm!("cmp {index}, {size}", "sbb {mask}, {mask}", index = in(reg) index, size = in(reg) size, mask = lateout(reg) mask,
            options(pure, nomem, nostack))
    };
    index & mask
}
