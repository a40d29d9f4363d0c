//! Traps of processes that outlive the tracer.
//!
//! The kernel drops a signal whose report the tracer has taken when the tracer is killed. A thread that ran into `int3` would
//! then go on behind the first byte of an instruction. So, before the tracer takes the report, it moves the thread back to the
//! breakpoint instruction, and writes that address into the information of the signal for the handler in the debuggee.

use super::arch;
use super::sys::{self, Report, SigInfo, is_gone};
use super::tracees::Tracees;
use super::wait;
use crate::arch::BEHIND;
use crate::{Result, Tid};

/// Whether the traps of a thread have to be prepared by [`rewind`].
fn needs_rewind(tracees: &Tracees, tid: Tid) -> bool {
    BEHIND > 0 && tracees.outlives_tracer(tid)
}

/// Takes what one thread has to report. `None`: nothing now.
pub(super) fn take_report(tracees: &mut Tracees, tid: Tid, block: bool) -> Result<Option<Report>> {
    if needs_rewind(tracees, tid) {
        // The next call takes a report that comes after this look.
        let Some(signal) = wait::peek(tid, block)? else { return Ok(None) };
        rewind_if_trap(tracees, tid, signal)?;
        return wait::wait_for(tid, false);
    }
    wait::wait_for(tid, block)
}

/// Prepares a thread whose report, a stop by this signal alone, is about to be taken.
pub(super) fn rewind_if_trap(tracees: &mut Tracees, tid: Tid, signal: i32) -> Result<()> {
    if signal != libc::SIGTRAP || !needs_rewind(tracees, tid) {
        return Ok(());
    }
    match rewind(tracees, tid) {
        Err(error) if is_gone(&error) => Ok(()),
        result => result,
    }
}

/// Moves a thread back to the breakpoint instruction of ours that stopped it. The kernel still has the report of the stop.
fn rewind(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    tracees.thread_mut(tid)?.rewound = None;
    let info = sys::siginfo(tid)?;
    if !arch::is_breakpoint(&info) {
        return Ok(());
    }
    let at = arch::pc(tid)?.wrapping_sub(BEHIND);
    let space = tracees.space_at(tid)?;
    if space.find(at).is_none() && space.place(at).is_none() {
        return Ok(());
    }
    let mut named = info;
    named.set_address(at);
    sys::set_siginfo(tid, &named)?;
    arch::set_pc(tid, at)?;
    tracees.thread_mut(tid)?.rewound = Some(info);
    Ok(())
}

/// The information of the trap that stopped a thread, as the kernel made it; it replaces the changed one.
pub(super) fn original_siginfo(tracees: &mut Tracees, tid: Tid) -> Result<SigInfo> {
    let info = sys::siginfo(tid)?;
    let Some(made) = tracees.thread_mut(tid)?.rewound.take() else { return Ok(info) };
    sys::set_siginfo(tid, &made)?;
    Ok(made)
}
