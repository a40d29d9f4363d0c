//! What belongs to jumps that cover more than one instruction: there are none.

use std::ops::Range;

use super::link::Link;

/// Nothing: threads come to a jump at its beginning alone.
#[derive(Clone, Debug, Default)]
pub(in crate::ptrace) struct Covering;

impl Covering {
    /// What leads from code to its trampolines.
    pub(in crate::ptrace) fn link(&self, _: &Range<u64>) -> Option<Link> {
        Some(Link)
    }

    /// The site of a thread on the way to its trampoline: none is.
    pub(in crate::ptrace) fn site(&self, _: u64) -> Option<u64> {
        None
    }

    /// The mappings: none.
    pub(in crate::ptrace) fn mappings(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        std::iter::empty()
    }
}
