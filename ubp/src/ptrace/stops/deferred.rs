//! Signals that waited until the instruction in a slot is done.

use super::super::resend::resend;
use super::super::sys::{self, SigInfo};
use super::super::thread::Stop;
use super::super::tracees::Tracees;
use super::Next;
use crate::{Result, Tid};

/// The thread is where it would be without breakpoints: the signals that waited arrive.
pub(super) fn release_deferred(tracees: &mut Tracees, tid: Tid) -> Result<Next> {
    let waiting = std::mem::take(&mut tracees.thread_mut(tid)?.slot.deferred);
    if tracees.thread(tid)?.goal.is_step() {
        for info in waiting {
            resend(tracees, tid, info)?;
        }
        return Ok(Next::Stepped);
    }
    let Some((&first, rest)) = waiting.split_first() else { return Ok(Next::GoOn) };
    for &info in rest {
        resend(tracees, tid, info)?;
    }
    present(tracees, tid, first)
}

/// The instruction is done, and the program's own trap flag was set: that trap comes before all other signals.
pub(super) fn trap_before_deferred(tracees: &mut Tracees, tid: Tid, pc: u64) -> Result<Next> {
    for info in std::mem::take(&mut tracees.thread_mut(tid)?.slot.deferred) {
        resend(tracees, tid, info)?;
    }
    present(tracees, tid, SigInfo::single_step(pc))
}

/// Puts a signal in the place of the trap that the thread is stopped by.
pub(super) fn present(tracees: &mut Tracees, tid: Tid, info: SigInfo) -> Result<Next> {
    match tracees.thread(tid)?.stop() {
        Some(Stop::Trap | Stop::Signal(_)) => {
            sys::set_siginfo(tid, &info)?;
            tracees.set_stop(tid, Stop::Signal(info))?;
        }
        _ => tracees.set_stop(tid, Stop::Moved(info))?,
    }
    Ok(Next::Signal(info.signal()))
}
