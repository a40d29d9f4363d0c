//! Keeping a processor for the measurement alone.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Middle of the real-time range (sched(7)): above all ordinary threads.
const PRIORITY: i32 = 50;

/// Pins this thread to its last processor, with real-time priority if that is allowed, and returns a description.
pub(crate) fn claim() -> String {
    let this = Pid::from_raw(0);
    let Ok(allowed) = sched_getaffinity(this) else { return "not pinned".into() };
    let Some(last) = (0..CpuSet::count()).rev().find(|cpu| allowed.is_set(*cpu).unwrap_or(false)) else {
        return "not pinned".into();
    };
    let mut one = CpuSet::new();
    if one.set(last).is_err() || sched_setaffinity(this, &one).is_err() {
        return "not pinned".into();
    }
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: `parameters` is a live structure that the call only reads.
    let failed = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    let priority = if failed == 0 { "real-time priority" } else { "ordinary priority" };
    format!("pinned to processor {last}, {priority}")
}
