//! Entries of jumps, and what a tracer that was killed left of them.

use std::collections::BTreeMap;

use super::view::mark;
use super::{SlotId, Space};
use crate::arch::BREAKPOINT;
use crate::ptrace::jumps::LENGTH;

impl Space {
    /// Marks the entry of a site. A mark other than 0 says that a jump counts the arrivals there.
    pub(super) fn mark_site(&mut self, site: u64, mark: u8) {
        if let Some(slot) = self.slot_of(site) {
            self.change(slot, |entry| entry.mark = mark);
        }
    }

    /// Whether a byte belongs to a jump of the table, behind its first one: a breakpoint instruction there is a part of the jump.
    pub(super) fn is_in_jump(&self, address: u64) -> bool {
        (1..LENGTH).any(|behind| self.jumps.get(address.wrapping_sub(behind)).is_some())
    }

    /// Puts the program's bytes back where jumps of a tracer stand that was killed; `slots` are the entries for them. Only threads in the kernel
    /// may run. What these jumps lead to stays mapped, because threads may be there.
    pub(in crate::ptrace) fn remove_left_jumps(&mut self, slots: &[SlotId]) {
        let entries: BTreeMap<u64, Vec<u8>> = slots
            .iter()
            .filter_map(|slot| self.entry(*slot))
            .map(|entry| (entry.site, entry.bytes().to_vec()))
            .collect();
        self.restore_under_jumps(&entries);
        for (site, bytes) in &entries {
            if let Some(original) = mark(bytes).filter(|_| self.memory.read_array(*site) == Some(BREAKPOINT)) {
                self.memory.write(*site, &original);
            }
        }
        slots.iter().for_each(|slot| self.retire(*slot));
        self.flush();
    }
}
