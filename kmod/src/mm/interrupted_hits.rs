// SPDX-License-Identifier: GPL-2.0

//! Traps of threads that will trap at the same address again, and what is known of them by then.

use fastpath::lockfree::Marks;
use fastpath::Registers;

/// Traps that are remembered per address space, so that the kernel's memory stays bounded. A further one replaces another, which is then
/// taken for a new one.
const MOST: usize = 64;

/// What is known of a trap.
#[derive(Clone, Copy)]
pub(crate) enum Known {
    /// The hit was counted, but interrupted before its instruction ran: a signal or a request to hold took the thread out of its slot.
    Counted,
    /// The trap is not of a breakpoint, as long as the number of changes of breakpoints is this one.
    Foreign(u32),
    /// The trap is of a uprobe, and all breakpoints of the site have counted it, as long as the number of changes is this one.
    Uprobe(u32),
    /// The thread will trap again when the handler of a signal returns, for a system call that the hit has counted. Such a trap is `Counted` from
    /// the handler's return on: a handler may be left by other means.
    Restarts,
}

impl Known {
    /// A number for the hash.
    fn salt(self) -> u64 {
        match self {
            Known::Counted => 0,
            Known::Foreign(changes) => u64::from(changes) << 2 | 1,
            Known::Uprobe(changes) => u64::from(changes) << 2 | 2,
            Known::Restarts => 3,
        }
    }
}

/// The interrupted traps of an address space. A thread is recognised by a hash of its registers, which are unchanged when it traps
/// again. They include the stack pointer: a signal handler that is left by other means than its return does not hide a later hit.
pub(crate) struct InterruptedHits(Marks<MOST>);

impl InterruptedHits {
    pub(crate) const NONE: InterruptedHits = InterruptedHits(Marks::NONE);

    /// Notes the trap of a thread whose registers show the site again. An older hit of a loop whose registers are the same each time may have
    /// left its hash, which then serves this one.
    pub(crate) fn note(&self, registers: &Registers, known: Known) {
        self.0.set(hash(registers, registers.pc(), known));
    }

    /// The handler of a signal has returned to where these registers are.
    pub(crate) fn come_back(&self, registers: &Registers) {
        if !self.0.is_empty() && self.0.take(hash(registers, registers.pc(), Known::Restarts)) {
            self.note(registers, Known::Counted);
        }
    }

    /// Forgets the interrupted trap at `site` of a thread with these registers. Returns what was known of it. `changes` is the number of
    /// changes of breakpoints.
    #[inline(always)]
    pub(crate) fn take(&self, registers: &Registers, site: u64, changes: impl FnOnce() -> u32) -> Option<Known> {
        if self.0.is_empty() {
            return None;
        }
        self.take_noted(registers, site, changes())
    }

    #[inline(never)]
    fn take_noted(&self, registers: &Registers, site: u64, changes: u32) -> Option<Known> {
        let all = [Known::Counted, Known::Foreign(changes), Known::Uprobe(changes)];
        all.into_iter().find(|known| self.0.take(hash(registers, site, *known)))
    }
}

/// A hash of the registers of a thread at `pc` and of what is known, never 0.
#[inline(never)]
fn hash(registers: &Registers, pc: u64, known: Known) -> u64 {
    // FNV-1a by words. The rotation brings the better upper bits down.
    const PRIME: u64 = 0x100_0000_01b3;
    let mut hash = registers.sp() ^ pc.rotate_left(32) ^ known.salt();
    for word in registers.general() {
        hash = (hash ^ word).wrapping_mul(PRIME).rotate_left(29);
    }
    hash | 1 << 63
}
