//! Mirrors of modules.

use std::ops::Range;

use trampoline::x86::{Displacement, JUMP_LEN, mirror_jump};

/// The mapping in which the jumps of a module's sites lead on to trampolines.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Mirror {
    /// The code.
    pub(in crate::ptrace) code: Range<u64>,
    pub(in crate::ptrace) displacement: Displacement,
    /// The mapping, in whole pages.
    pub(in crate::ptrace) range: Range<u64>,
}

impl Mirror {
    /// The mirror of `code`; `None` if it would lie below zero.
    pub(in crate::ptrace) fn new(code: Range<u64>, displacement: Displacement, page: u64) -> Option<Mirror> {
        let range = displacement.mirror_of(&code)?;
        let range = range.start / page * page..range.end.checked_next_multiple_of(page)?;
        Some(Mirror { code, displacement, range })
    }

    /// Whether the mirror is that of all of `code`.
    pub(in crate::ptrace) fn serves(&self, code: &Range<u64>) -> bool {
        self.code.start <= code.start && code.end <= self.code.end
    }

    /// The site whose jump leads to `pc`.
    pub(in crate::ptrace) fn site(&self, pc: u64) -> u64 {
        pc.wrapping_sub(self.displacement.mirror(0))
    }

    /// The jump for a site, and its address.
    pub(in crate::ptrace) fn jump(&self, site: u64, trampoline: u64) -> Option<(u64, [u8; JUMP_LEN])> {
        let at = self.displacement.mirror(site);
        Some((at, mirror_jump(at, trampoline).ok()?))
    }
}
