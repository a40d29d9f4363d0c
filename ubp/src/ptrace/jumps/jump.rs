//! One jump, and its trampoline.

use super::Member;
use super::arch::{Draft, Head, LENGTH, Place, Trampoline, place};

/// A jump at a site.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Jump {
    pub(in crate::ptrace) site: u64,
    pub(in crate::ptrace) head: Head,
    pub(in crate::ptrace) trampoline: Trampoline,
    /// The store that the trampoline lies in.
    pub(in crate::ptrace) store: usize,
    /// The first one is that of the site itself.
    pub(in crate::ptrace) members: Vec<Member>,
    draft: Draft,
    /// The instructions of the trampoline that read the program's memory, where a handler answers their faults, and where it continues.
    fixups: Box<[(u64, u64)]>,
}

impl Jump {
    pub(in crate::ptrace) fn new(
        draft: Draft,
        head: Head,
        trampoline: Trampoline,
        store: usize,
        members: Vec<Member>,
        fixups: Box<[(u64, u64)]>,
    ) -> Jump {
        Jump { site: draft.site, head, trampoline, store, members, draft, fixups }
    }

    /// Bytes of the instructions that the trampoline runs.
    pub(in crate::ptrace) fn len(&self) -> u64 {
        self.trampoline.run_len() as u64
    }

    /// The address behind these instructions.
    pub(in crate::ptrace) fn end(&self) -> u64 {
        self.site + self.len()
    }

    /// The bytes at the site.
    pub(in crate::ptrace) fn bytes(&self) -> [u8; LENGTH as usize] {
        self.head.bytes()
    }

    /// The program's code from the site on, by which the trampoline was made.
    pub(in crate::ptrace) fn code(&self) -> &[u8] {
        &self.draft.code
    }

    /// The program's bytes that the jump replaces.
    pub(in crate::ptrace) fn original(&self) -> &[u8] {
        self.draft.code.get(..LENGTH as usize).unwrap_or_default()
    }

    /// The member at an address.
    pub(in crate::ptrace) fn member(&self, address: u64) -> Option<&Member> {
        self.members.iter().find(|member| self.site + u64::from(member.offset) == address)
    }

    /// Whether the address is that of a member behind the bytes of the jump. A breakpoint instruction stands there.
    pub(in crate::ptrace) fn is_further(&self, address: u64) -> bool {
        address >= self.site + LENGTH && self.member(address).is_some()
    }

    /// The instructions of the trampoline that raise signals which a handler answers when the tracer is gone, and where the thread continues: those
    /// that stop threads, and those that read the program's memory.
    pub(in crate::ptrace) fn answered(&self) -> impl Iterator<Item = (u64, u64)> {
        let stops = self.trampoline.stops().map(|(_, behind)| (behind.wrapping_sub(1), behind));
        stops.chain(self.fixups.iter().copied())
    }

    /// The sites whose arrivals the trampoline counts.
    pub(in crate::ptrace) fn sites(&self) -> impl Iterator<Item = u64> {
        self.members.iter().map(|member| self.site + u64::from(member.offset))
    }

    /// The meaning of an address in the trampoline, at an instruction's beginning.
    pub(in crate::ptrace) fn place(&self, offset: u16) -> Option<Place> {
        place(&self.draft, &self.members, &self.trampoline, offset)
    }
}
