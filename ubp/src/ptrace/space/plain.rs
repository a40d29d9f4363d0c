//! Sites that threads pass by a jump to the slot, and hits that need nothing but a count.

use insn::{Flow, Target};

use super::{SlotId, Space};
use crate::arch::{MAX_LEN, decode};

/// A thread that passes a site by a jump to its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptrace) struct BySlot {
    /// The address of the slot.
    pub(in crate::ptrace) address: u64,
    /// The code in the slot is a call in several instructions: the thread must neither have a shadow stack nor single-step itself.
    pub(in crate::ptrace) calls: bool,
}

impl Space {
    /// How threads pass the site of a slot if a jump to the slot is all that they need. An instruction that can be emulated is, where one of the next
    /// instructions has a breakpoint too: the thread need not run into that one.
    pub(in crate::ptrace) fn by_slot(&self, slot: SlotId) -> Option<BySlot> {
        let info = self.info(slot)?;
        let address = self.slot_address(slot);
        if info.boosted {
            return Some(BySlot { address, calls: false });
        }
        if !info.whole || self.watches.observe_memory() {
            return None;
        }
        let entry = self.entry(slot)?;
        let (site, next) = (entry.site, entry.site.wrapping_add(entry.bytes().len() as u64));
        let insn = decode(entry.bytes(), self.mode).ok()?;
        let target = match insn.target() {
            Target::Relative(distance) => Some(next.wrapping_add_signed(distance)),
            _ => None,
        };
        let before = site.saturating_sub(MAX_LEN as u64)..site;
        let has_site = |at: u64| self.sites.contains_key(&at);
        if has_site(next) || target.is_some_and(has_site) || self.sites.range(before).next().is_some() {
            return None;
        }
        Some(BySlot { address, calls: insn.flow() == Flow::Call })
    }

    /// Whether the slot has the code of a call in several instructions.
    pub(super) fn calls(&self, slot: SlotId) -> bool {
        let is_whole = self.info(slot).is_some_and(|info| info.whole);
        let insn = || decode(self.entry(slot)?.bytes(), self.mode).ok();
        is_whole && insn().is_some_and(|insn| insn.flow() == Flow::Call)
    }

    /// How a thread passes `site`, if each breakpoint there only counts.
    pub(in crate::ptrace) fn plain_hit(&self, site: u64) -> Option<BySlot> {
        let slot = *self.sites.get(&site)?;
        let info = self.info(slot)?;
        if info.internal.is_some() || self.jumps.of_member(site).is_some() {
            return None;
        }
        let mut next = info.first;
        while let Some(breakpoint) = next.and_then(|id| self.breakpoints.get(id.0 as usize)?.as_ref()) {
            let spec = &breakpoint.spec;
            if !spec.only_counts() || spec.once || spec.thread.is_some() || spec.aggregation.is_some() {
                return None;
            }
            next = breakpoint.next;
        }
        self.by_slot(slot)
    }
}
