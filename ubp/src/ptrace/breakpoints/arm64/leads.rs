//! What leads to trampolines besides the jumps: nothing.

use std::ops::Range;

use crate::ptrace::jumps::Link;
use crate::ptrace::reports::Reports;
use crate::ptrace::tracees::Tracees;
use crate::{Pid, Result, Tid};

/// Maps nothing: a branch leads to its trampoline by itself.
pub(super) fn provide_link(_: &mut Tracees, _: &mut Reports, _: Tid, _: Pid, _: &Range<u64>, _: bool) -> Result<Link> {
    Ok(Link)
}

/// Maps nothing: the site of a jump has its entry.
pub(super) fn provide_answers(_: &mut Tracees, _: &mut Reports, _: Tid, _: Pid, _: &[u64]) -> Result<()> {
    Ok(())
}
