//! Guarded pages: no x86 page demands landing pads for itself.

use std::ops::Range;

use crate::Pid;

/// The protection bits of a guarded page: there are none.
pub(in crate::ptrace) const GUARDED: i32 = 0;

/// The guarded mappings of a process: there are none.
pub(in crate::ptrace) fn guarded(_: Pid) -> Vec<Range<u64>> {
    Vec::new()
}
