//! Pending signals of a thread that is being detached.
//!
//! A signal that the tracer sent once more arrives as one of the tracer's, and its information is put back then. After a detach
//! nobody would put it back. The kernel itself queues a signal again, with all its information, where the signal is blocked at
//! the moment of delivery (kernel/signal.c, `ptrace_signal`).

use super::super::reports::Reports;
use super::super::resend::{resend, take_resent};
use super::super::status::Status;
use super::super::sys::{self, PTRACE_EVENT_STOP, SigInfo};
use super::super::thread::Stop;
use super::super::tracees::Tracees;
use crate::{Result, Signal, Tid};

/// Puts the original information into all signals that the tracer sent once more to a stopped thread. The thread is stopped by
/// no signal then.
pub(super) fn requeue_signals(tracees: &mut Tracees, reports: &mut Reports, tid: Tid) -> Result<()> {
    let thread = tracees.thread(tid)?;
    let (pid, stop) = (thread.pid, thread.stop());
    if let Some(Stop::Moved(info)) = stop {
        resend(tracees, tid, info)?;
    }
    if tracees.thread(tid)?.resent.is_empty() {
        return Ok(());
    }
    let mask = sys::signal_mask(tid)?;
    if let Some(Stop::Signal(info)) = stop {
        requeue(tracees, reports, tid, info.signal())?;
    }
    let mut kept = Vec::new();
    while let Some(wanted) = tracees.thread(tid)?.resent.first().map(SigInfo::signal) {
        if !Status::read(tid)?.is_pending(Signal(wanted)) {
            // The kernel has delivered it together with another instance.
            tracees.thread_mut(tid)?.resent.remove(0);
            continue;
        }
        sys::set_signal_mask(tid, !Signal(wanted).bit())?;
        sys::cont(tid, 0)?;
        match reports.next_stop(tracees, tid)? {
            (signal, 0) if signal == wanted => {
                if let Some(info) = take_resent(tracees, tid, &sys::siginfo(tid)?)? {
                    sys::set_siginfo(tid, &info)?;
                }
                requeue(tracees, reports, tid, signal)?;
            }
            // SIGSTOP, which nobody can block.
            (signal, 0) => kept.push(signal),
            _ => {}
        }
    }
    sys::set_signal_mask(tid, mask)?;
    tracees.set_stop(tid, Stop::Event)?;
    kept.into_iter().try_for_each(|signal| sys::send(pid.0, tid, signal))
}

/// Queues the signal again that a thread is stopped by, and stops the thread where it is.
fn requeue(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, signal: i32) -> Result<()> {
    sys::set_signal_mask(tid, u64::MAX)?;
    sys::interrupt(tid)?;
    sys::cont(tid, signal)?;
    while reports.next_stop(tracees, tid)?.1 != PTRACE_EVENT_STOP {
        sys::cont(tid, 0)?;
    }
    Ok(())
}
