//! What raised a `SIGTRAP` that no breakpoint instruction raised.

use super::super::arch;
use super::super::sys::SigInfo;
use super::super::tracees::Tracees;
use crate::{Result, Tid};

/// Whether the trap flag raised a signal of a thread, the program's or the tracer's, or debug registers of which the processor does not tell.
pub(super) fn is_single_step(tracees: &Tracees, tid: Tid, info: &SigInfo) -> Result<bool> {
    let space = tracees.space_at(tid)?;
    let last = || {
        let (at, mut byte) = (arch::pc(tid).ok()?.wrapping_sub(1), [0]);
        (space.read(at, &mut byte) == 1).then_some(byte[0])
    };
    Ok(arch::is_single_step(info, last))
}

/// Whether a debug register may have raised a signal of a thread though the kernel does not say so: no step was under way.
pub(super) fn is_unnamed_watch(tracees: &Tracees, tid: Tid, info: &SigInfo) -> Result<bool> {
    let thread = tracees.thread(tid)?;
    let may_be = !arch::BEFORE_ACCESS && thread.armed.is_any() && thread.step().is_none() && !thread.goal.is_step();
    // The kernel gives the place where the thread goes on.
    Ok(may_be
        && is_single_step(tracees, tid, info)?
        && info.address() == arch::pc(tid)?
        && !arch::traces(&arch::read(tid)?))
}
