// SPDX-License-Identifier: GPL-2.0

//! Traps of an address space's threads that are left to uprobes, until uprobes have handled them.
//!
//! Whoever removes a uprobe waits for the traps that were handed before, because uprobes take a trap for the program's own if they find no
//! uprobe any more. Traps are counted in turns: those of the last turn end, while new ones are counted in the next.

use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use kernel::bindings;
use kernel::ffi::c_int;

use crate::mm::atomic::wait_for_hits;

/// How long a removal waits for traps at most, in ticks of HZ: a program's uprobe may sleep for as long as it likes.
const PATIENCE: u32 = 10 * bindings::HZ;

/// The traps that uprobes have.
pub(crate) struct Handed {
    /// The number of traps of even and of odd turns. A thread that its tracer misleads may end a trap twice, so it may be negative.
    traps: [AtomicI32; 2],
    turn: AtomicU32,
}

impl Handed {
    pub(crate) const NONE: Handed = Handed { traps: [const { AtomicI32::new(0) }; 2], turn: AtomicU32::new(0) };

    /// Counts a trap. Returns the number of its turn, 1 or 2. Called in a read-side section of RCU.
    pub(crate) fn begin(&self) -> c_int {
        let turn = self.turn.load(Ordering::SeqCst) % 2;
        self.add(turn, 1);
        turn as c_int + 1
    }

    /// The trap of a turn has been handled.
    pub(crate) fn end(&self, turn: c_int) {
        self.add(turn.wrapping_sub(1) as u32 % 2, -1);
    }

    fn add(&self, turn: u32, count: i32) {
        if let Some(traps) = self.traps.get(turn as usize) {
            traps.fetch_add(count, Ordering::SeqCst);
        }
    }

    /// Waits until uprobes have handled all traps that were handed to them before the call.
    pub(crate) fn drain(&self) {
        let turn = self.turn.fetch_add(1, Ordering::SeqCst) % 2;
        // A trap that saw the old turn is counted in it now.
        wait_for_hits();
        let mut left = PATIENCE;
        while left > 0 && self.traps.get(turn as usize).is_some_and(|traps| traps.load(Ordering::SeqCst) > 0) {
            // SAFETY: the callers may sleep.
            unsafe { bindings::schedule_timeout_uninterruptible(1) };
            left -= 1;
        }
    }
}
