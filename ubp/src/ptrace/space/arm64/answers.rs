//! Entries for jumps when the tracer is gone. No thread traps at one, and the next tracer finds it by its entry.

use std::collections::BTreeMap;

use trampoline::arm64::{begins_trampoline, branch_target};

use super::Space;
use super::view::mark;

/// The mark of an entry whose site may have a branch to a trampoline.
const BRANCHES: u8 = 1;

impl Space {
    /// Marks the entry of a jump. Returns whether there was room for all that is needed, which there is.
    pub(super) fn add_answers(&mut self, site: u64) -> bool {
        self.mark_site(site, BRANCHES);
        true
    }

    /// Removes the mark of a jump.
    pub(super) fn remove_answers(&mut self, site: u64, _: &[u64]) {
        self.mark_site(site, 0);
    }

    /// Puts the program's instruction back where a branch to a trampoline stands that is not in the table; `entries` has the instructions.
    pub(super) fn restore_under_jumps(&self, entries: &BTreeMap<u64, Vec<u8>>) {
        for (&site, bytes) in entries.iter().filter(|(site, _)| self.jumps.get(**site).is_none()) {
            if let Some(original) = mark(bytes).filter(|original| self.is_left_branch(site, *original)) {
                self.memory.write(site, &original);
            }
        }
    }

    /// Whether a branch to a trampoline stands in the place of an instruction.
    fn is_left_branch(&self, site: u64, original: [u8; 4]) -> bool {
        let there = self.memory.read_array(site).filter(|there| *there != original);
        let target = there.and_then(|there| branch_target(site, u32::from_le_bytes(there)));
        let word = |at: u64| self.memory.read_array(at).map(u32::from_le_bytes);
        let words = target.and_then(|at| Some([word(at)?, word(at.wrapping_add(4))?]));
        words.is_some_and(begins_trampoline)
    }
}
