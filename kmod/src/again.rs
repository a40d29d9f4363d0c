// SPDX-License-Identifier: GPL-2.0

//! Threads that come to a breakpoint again which they have been counted at: a signal, or somebody who asked for the thread, took it
//! out of the slot before the instruction was carried out.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use passage::Registers;

/// Those of a process that are remembered, each in a place by its number: what the kernel keeps of a process does not grow. Where
/// two have the same place the earlier one is counted twice.
const MOST: usize = 64;

/// Who comes again. A thread is known by its registers, which are the same then, the stack pointer among them: a handler that is
/// left otherwise than by its return does not make a later hit a second one.
pub(crate) struct Again {
    threads: [AtomicU64; MOST],
    count: AtomicU32,
}

impl Again {
    /// Nobody.
    pub(crate) const NOBODY: Again = Again { threads: [const { AtomicU64::new(0) }; MOST], count: AtomicU32::new(0) };

    /// A thread was taken back to the instruction where it stands now.
    pub(crate) fn note(&self, registers: &Registers) {
        let number = number(registers, registers.pc());
        if let Some(place) = self.place(number) {
            if place.swap(number, Ordering::AcqRel) == 0 {
                self.count.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    /// Whether the thread that comes to a breakpoint at `site` was taken back to it; it is forgotten.
    #[inline(always)]
    pub(crate) fn take(&self, registers: &Registers, site: u64) -> bool {
        self.count.load(Ordering::Acquire) != 0 && self.take_noted(number(registers, site))
    }

    #[inline(never)]
    fn take_noted(&self, number: u64) -> bool {
        let taken = self
            .place(number)
            .is_some_and(|place| place.compare_exchange(number, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok());
        if taken {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
        taken
    }

    fn place(&self, number: u64) -> Option<&AtomicU64> {
        self.threads.get(number as usize % MOST)
    }
}

/// What a thread with these registers at `pc` is known by: never 0.
#[inline(never)]
fn number(registers: &Registers, pc: u64) -> u64 {
    // As Fowler, Noll and Vo do (FNV-1a), by words, with the better upper bits brought down.
    const FACTOR: u64 = 0x100_0000_01b3;
    let mut hash = registers.sp() ^ pc.rotate_left(32);
    for word in registers.general() {
        hash = (hash ^ word).wrapping_mul(FACTOR).rotate_left(29);
    }
    hash | 1 << 63
}
