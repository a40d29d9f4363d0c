//! What belongs to the jumps of an address space because they cover more than one instruction.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::mirror::Mirror;

/// How often threads may enter the run of a jump at one address before the jump ends there.
const ENTRIES: u32 = 32;

/// The mirrors, and where threads entered jumps.
#[derive(Clone, Debug, Default)]
pub(in crate::ptrace) struct Covering {
    pub(in crate::ptrace) mirrors: Vec<Mirror>,
    /// How often threads have entered the run of a jump behind its beginning, by address.
    entries: HashMap<u64, u32>,
    /// The addresses where this happened too often.
    entered: BTreeSet<u64>,
}

impl Covering {
    /// What leads from code to its trampolines.
    pub(in crate::ptrace) fn link(&self, code: &Range<u64>) -> Option<Mirror> {
        self.mirrors.iter().find(|mirror| mirror.serves(code)).cloned()
    }

    /// The site whose jump leads to `pc`.
    pub(in crate::ptrace) fn site(&self, pc: u64) -> Option<u64> {
        let mirror = self.mirrors.iter().find(|mirror| mirror.range.contains(&pc))?;
        Some(mirror.site(pc))
    }

    /// The mappings.
    pub(in crate::ptrace) fn mappings(&self) -> impl Iterator<Item = (u64, u64)> {
        self.mirrors.iter().map(|mirror| (mirror.range.start, mirror.range.end))
    }

    /// Notes that a thread entered the run of a jump at an address. Returns whether that happened too often.
    pub(in crate::ptrace) fn note_entered(&mut self, address: u64) -> bool {
        let entries = self.entries.entry(address).or_default();
        *entries = entries.saturating_add(1);
        let is_often = *entries % ENTRIES == 0;
        if is_often {
            self.entered.insert(address);
        }
        is_often
    }

    /// The addresses at which threads have entered runs too often.
    pub(in crate::ptrace) fn all_entered(&self) -> &BTreeSet<u64> {
        &self.entered
    }
}
