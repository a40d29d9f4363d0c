// SPDX-License-Identifier: GPL-2.0

//! Threads that come to a breakpoint again which they have been counted at: a signal, or somebody who asked for the thread, took it
//! out of the slot before the instruction was carried out.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use fastpath::Registers;

/// Those of a process that are remembered: what the kernel keeps of a process does not grow. One more is remembered in place of
/// another, which is counted twice.
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
        // Who did not come again may have left its number, of a loop that has the same registers each time.
        if self.replace(number, number) {
            return;
        }
        let anywhere = || self.threads.get(number as usize % MOST).map(|place| place.swap(number, Ordering::AcqRel));
        if self.replace(0, number) || anywhere() == Some(0) {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Whether the thread that comes to a breakpoint at `site` was taken back to it; it is forgotten.
    #[inline(always)]
    pub(crate) fn take(&self, registers: &Registers, site: u64) -> bool {
        self.count.load(Ordering::Acquire) != 0 && self.take_noted(number(registers, site))
    }

    #[inline(never)]
    fn take_noted(&self, number: u64) -> bool {
        let taken = self.replace(number, 0);
        if taken {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
        taken
    }

    /// Puts a number in a place of another; says whether there was one.
    #[inline(never)]
    fn replace(&self, old: u64, new: u64) -> bool {
        self.threads.iter().any(|place| {
            place.load(Ordering::Relaxed) == old
                && place.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
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
