//! Mirrors of modules.

use std::ops::Range;

use trampoline::x86::{Displacement, JUMP_LEN, mirror_jump};

use super::head::Head;
use crate::{Mapping, NoJump};

/// The mapping in which the jumps of a module's sites lead on to trampolines.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Mirror {
    /// The code.
    code: Range<u64>,
    displacement: Displacement,
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
    pub(super) fn serves(&self, code: &Range<u64>) -> bool {
        self.code.start <= code.start && code.end <= self.code.end
    }

    /// The site whose jump leads to `pc`.
    pub(super) fn site(&self, pc: u64) -> u64 {
        pc.wrapping_sub(self.displacement.mirror(0))
    }

    /// The code of a mapping that one mirror and one store serve: all of it.
    pub(in crate::ptrace) fn code_at(mapping: &Mapping, _: u64) -> Range<u64> {
        mapping.start.0..mapping.end.0
    }

    /// What the trampolines of jumps in `code` must reach.
    pub(in crate::ptrace) fn reached(&self, code: &Range<u64>) -> Range<u64> {
        code.start.min(self.range.start)..code.end.max(self.range.end)
    }

    /// What the trampolines of a new store for jumps in a mapping must reach: copies of instructions name memory of the whole module.
    pub(in crate::ptrace) fn reached_from(&self, maps: &[Mapping], mapping: &Mapping, _: &Range<u64>) -> Range<u64> {
        let of_module = maps.iter().filter(|map| map.inode == mapping.inode && map.device == mapping.device);
        let low = of_module.clone().map(|map| map.start.0).min().unwrap_or(mapping.start.0);
        let high = of_module.map(|map| map.end.0).max().unwrap_or(mapping.end.0);
        self.reached(&(low..high))
    }

    /// What stands at a site whose trampoline lies at an address.
    pub(in crate::ptrace) fn head(&self, _: u64, _: u64) -> Result<Head, NoJump> {
        Ok(Head { displacement: self.displacement })
    }

    /// The jump that leads on from there, and its address.
    pub(in crate::ptrace) fn lead(&self, site: u64, trampoline: u64) -> Result<Option<(u64, [u8; JUMP_LEN])>, NoJump> {
        let at = self.displacement.mirror(site);
        mirror_jump(at, trampoline).map(|jump| Some((at, jump))).map_err(|_| NoJump::NoRoom)
    }
}
