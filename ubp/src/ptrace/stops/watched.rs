//! Accesses that watchpoints observe: by the thread itself, which the processor reports, and by the tracer in its place.

use super::super::arch;
use super::super::sys::{SigInfo, TRAP_TRACE};
use super::super::thread::Stop;
use super::super::tracees::Tracees;
use super::Next;
use super::cause::is_unnamed_watch;
use super::mask::restore_mask;
use super::signal::on_signal;
use super::single_step::on_single_step;
use super::tell::{tell_first, watched};
use crate::watch::Hit;
use crate::{Result, Tid};

/// Handles a `SIGTRAP` that debug registers raised, alone or together with a single step. `None`: they did not.
pub(super) fn on_debug_trap(tracees: &mut Tracees, tid: Tid, info: SigInfo) -> Result<Option<Next>> {
    if !info.is_synchronous() {
        return Ok(None);
    }
    let alone = arch::is_watch(&info) || is_unnamed_watch(tracees, tid, &info)?;
    let armed = &mut tracees.thread_mut(tid)?.armed;
    if !alone && armed.end_pass() {
        // The thread is past the access that the user has seen, and gets its debug registers back.
        return past_access(tracees, tid).map(Some);
    }
    let is_armed = armed.is_any();
    let mut hits = take_hits(tracees, tid, &info)?;
    if hits.is_empty() && !arch::is_watch(&info) {
        // A trap of `int1` may be told of as a step.
        if !alone || info.si_code() == TRAP_TRACE {
            return Ok(None);
        }
        hits = tracees.only_hit(tid)?;
    }
    let next = if alone {
        restore_mask(tracees, tid)?;
        tracees.set_stop(tid, Stop::Trap)?;
        if arch::BEFORE_ACCESS || !is_armed {
            // Registers that are not the session's are those that another tracer left behind.
            tracees.disarm(tid)?;
        }
        if arch::BEFORE_ACCESS && !hits.is_empty() {
            tracees.thread_mut(tid)?.armed.begin_pass();
        }
        Next::GoOn
    } else if tracees.thread(tid)?.step().is_some() {
        restore_mask(tracees, tid)?;
        on_single_step(tracees, tid)?
    } else {
        // The program single-steps itself: the trap is its own as well.
        on_signal(tracees, tid, info)?
    };
    tell_first(tracees, tid, hits.into_iter().map(watched), next).map(Some)
}

/// The watchpoints that a thread has run into, as far as the processor tells.
pub(super) fn take_hits(tracees: &mut Tracees, tid: Tid, info: &SigInfo) -> Result<Vec<Hit>> {
    let is_armed = tracees.thread(tid)?.armed.is_any();
    if is_armed { tracees.take_hits(tid, info.address()) } else { Ok(Vec::new()) }
}

fn past_access(tracees: &mut Tracees, tid: Tid) -> Result<Next> {
    if tracees.thread(tid)?.step().is_some() {
        return on_single_step(tracees, tid);
    }
    tracees.set_stop(tid, Stop::Trap)?;
    Ok(Next::GoOn)
}
