// SPDX-License-Identifier: GPL-2.0

//! Hits that were counted but interrupted before their instruction ran: a signal or a request to hold took the thread out of its
//! slot. The thread will trap at the site again, and that trap is not counted.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use fastpath::Registers;

/// Interrupted hits that are remembered per address space, so that the kernel's memory stays bounded. A further one replaces another,
/// which is then counted twice.
const MOST: usize = 64;

/// The interrupted hits of an address space. A thread is recognised by a hash of its registers, which are unchanged when it traps
/// again. They include the stack pointer: a signal handler that is left by other means than its return does not hide a later hit.
pub(crate) struct InterruptedHits {
    hashes: [AtomicU64; MOST],
    count: AtomicU32,
}

impl InterruptedHits {
    pub(crate) const NONE: InterruptedHits =
        InterruptedHits { hashes: [const { AtomicU64::new(0) }; MOST], count: AtomicU32::new(0) };

    /// Notes the hit of a thread whose registers show the site again.
    pub(crate) fn note(&self, registers: &Registers) {
        let hash = hash(registers, registers.pc());
        // An older hit of a loop whose registers are the same each time may have left its hash.
        if self.replace(hash, hash) {
            return;
        }
        let anywhere = || self.hashes.get(hash as usize % MOST).map(|entry| entry.swap(hash, Ordering::AcqRel));
        if self.replace(0, hash) || anywhere() == Some(0) {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Forgets the interrupted hit at `site` of a thread with these registers. Returns whether there was one.
    #[inline(always)]
    pub(crate) fn take(&self, registers: &Registers, site: u64) -> bool {
        self.count.load(Ordering::Acquire) != 0 && self.take_noted(hash(registers, site))
    }

    #[inline(never)]
    fn take_noted(&self, hash: u64) -> bool {
        let taken = self.replace(hash, 0);
        if taken {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
        taken
    }

    /// Replaces one entry that equals `old`. Returns whether there was one.
    #[inline(never)]
    fn replace(&self, old: u64, new: u64) -> bool {
        self.hashes.iter().any(|entry| {
            entry.load(Ordering::Relaxed) == old
                && entry.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }
}

/// A hash of the registers of a thread at `pc`, never 0.
#[inline(never)]
fn hash(registers: &Registers, pc: u64) -> u64 {
    // FNV-1a by words. The rotation brings the better upper bits down.
    const PRIME: u64 = 0x100_0000_01b3;
    let mut hash = registers.sp() ^ pc.rotate_left(32);
    for word in registers.general() {
        hash = (hash ^ word).wrapping_mul(PRIME).rotate_left(29);
    }
    hash | 1 << 63
}
