// SPDX-License-Identifier: GPL-2.0

//! x86-64.

mod registers;

use core::ffi::{c_ulong, c_void};
use ubp::arch::Mode;
pub use ubp::arch::{reaches, PAGE, REACH};

pub use self::registers::Registers;

/// ELF's e_machine.
pub const MACHINE: u64 = 62;

/// What uprobes put into code: it is what programs have for themselves, too.
pub const UPROBE: [u8; 1] = [0xcc];

extern "C" {
    fn ntrace_memory_is_narrow(mm: *const c_void) -> bool;
    fn ntrace_cpu_is_amd() -> bool;
    fn ntrace_cpu_address_bits() -> c_ulong;
    fn ntrace_base(gs: bool) -> c_ulong;
}

/// How this machine reads code.
#[derive(Clone, Copy)]
pub struct Modes {
    amd: bool,
}

impl Modes {
    /// Asks the processor.
    pub fn of_this_machine() -> Modes {
        // SAFETY: it reads what never changes.
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

/// How the code of a process is read.
pub fn mode(mm: *const c_void) -> Mode {
    Modes::of_this_machine().of(is_narrow(mm))
}

fn is_narrow(mm: *const c_void) -> bool {
    // SAFETY: callers have a reference to it; one flag is read.
    unsafe { ntrace_memory_is_narrow(mm) }
}

/// What an mmap(2) of guarded pages asks for: there are none here.
pub const GUARDED: u64 = 0;

/// Behind the last address of a process (47 bits less a guard page; 32-bit programs end below 4 GiB less a page).
pub fn end(mm: *const c_void) -> u64 {
    if is_narrow(mm) {
        0xffff_d000
    } else {
        0x7fff_ffff_f000
    }
}
