//! Signals that the tracer sends once more, because the stop that would deliver them is gone.
//!
//! Such a signal arrives as one of the tracer's own. Its original information is put back then.

use super::sys::{self, REAL_TIME, SigInfo};
use super::tracees::Tracees;
use crate::{Result, Tid};

/// Sends a signal once more to a stopped thread.
pub(super) fn resend(tracees: &mut Tracees, tid: Tid, info: SigInfo) -> Result<()> {
    let thread = tracees.thread_mut(tid)?;
    // Only one instance of a standard signal can be pending.
    thread.resent.retain(|old| old.signal() != info.signal() || info.signal() >= REAL_TIME);
    thread.resent.push(info);
    sys::send(thread.pid.0, tid, info.signal())
}

/// The original information of a signal that arrives, if the tracer sent it once more.
pub(super) fn take_resent(tracees: &mut Tracees, tid: Tid, arrived: &SigInfo) -> Result<Option<SigInfo>> {
    let ours = arrived.is_from(sys::own_pid());
    let signal = arrived.signal();
    let resent = &mut tracees.thread_mut(tid)?.resent;
    // The kernel drops a standard signal while another instance of it is pending: what arrives replaces ours too.
    if !ours && signal >= REAL_TIME {
        return Ok(None);
    }
    let at = resent.iter().position(|old| old.signal() == signal);
    Ok(at.map(|at| resent.remove(at)).filter(|_| ours))
}
