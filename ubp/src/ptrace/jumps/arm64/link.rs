//! The way from a site to its trampoline.

use std::ops::Range;

use trampoline::arm64::branch;

use super::head::Head;
use crate::ptrace::arch::GROUP;
use crate::{Mapping, NoJump};

/// A branch leads to its trampoline by itself.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Link;

impl Link {
    /// The code of a mapping that one store serves, around a site: no more than a branch reaches across.
    pub(in crate::ptrace) fn code_at(mapping: &Mapping, site: u64) -> Range<u64> {
        let start = site / GROUP * GROUP;
        start.max(mapping.start.0)..start.saturating_add(GROUP).min(mapping.end.0)
    }

    /// What the trampolines of jumps in `code` must reach.
    pub(in crate::ptrace) fn reached(self, code: &Range<u64>) -> Range<u64> {
        code.clone()
    }

    /// What the trampolines of a new store for jumps in `code` must reach.
    pub(in crate::ptrace) fn reached_from(self, _: &[Mapping], _: &Mapping, code: &Range<u64>) -> Range<u64> {
        code.clone()
    }

    /// What stands at a site whose trampoline lies at an address.
    pub(in crate::ptrace) fn head(self, site: u64, trampoline: u64) -> Result<Head, NoJump> {
        let word = branch(site, trampoline).map_err(NoJump::TrampolineArm64)?;
        Ok(Head { word })
    }

    /// What leads on from there, and its address: nothing.
    pub(in crate::ptrace) fn lead(self, _: u64, _: u64) -> Result<Option<(u64, [u8; 0])>, NoJump> {
        Ok(None)
    }
}
