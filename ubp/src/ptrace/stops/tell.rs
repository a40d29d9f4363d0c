//! Events of a stop that come before what the stop means besides.

use std::collections::VecDeque;

use super::super::thread::Stop;
use super::super::tracees::Tracees;
use super::Next;
use super::stepped::note_stepped;
use crate::watch::Hit;
use crate::{EventKind, Result, Tid};

/// Puts events before a decision about a stopped thread. The decision is carried out when the user has seen the events.
pub(super) fn tell_first(
    tracees: &mut Tracees,
    tid: Tid,
    events: impl IntoIterator<Item = EventKind>,
    next: Next,
) -> Result<Next> {
    let mut events: VecDeque<EventKind> = events.into_iter().collect();
    let Some(first) = events.pop_front().filter(|_| !tracees.is_silent(tid)) else { return Ok(next) };
    match next {
        Next::Hold(kind) => events.push_back(kind),
        Next::Signal(_) if tracees.options.signals => {
            events.extend(tracees.thread(tid)?.signal_info().map(EventKind::Signal));
        }
        Next::LeaveCall(Some(due)) => tracees.thread_mut(tid)?.due = Some(due),
        Next::Stepped => note_stepped(tracees, tid)?,
        Next::Pass(slot) => {
            let site = tracees.space_at(tid)?.entry(slot).map(|entry| entry.site);
            tracees.thread_mut(tid)?.reported_at = site;
        }
        // A thread continues by itself where its registers say, and gets the signal that it is stopped by.
        _ => {}
    }
    tracees.thread_mut(tid)?.untold.extend(events);
    Ok(Next::Hold(first))
}

/// Puts accesses before a decision about the thread that made them, or in whose place the tracer did.
pub(super) fn tell_touched(tracees: &mut Tracees, tid: Tid, mut hits: Vec<Hit>, next: Next) -> Result<Next> {
    hits.sort_unstable();
    hits.dedup_by_key(|hit| hit.0);
    if !hits.is_empty() && next == Next::Run(0) {
        // A signal that the thread is stopped by is not to be delivered any more.
        match tracees.thread(tid)?.stop() {
            Some(Stop::Signal(_)) => tracees.set_stop(tid, Stop::Trap)?,
            Some(Stop::Moved(_)) => tracees.set_stop(tid, Stop::Event)?,
            _ => {}
        }
    }
    tell_first(tracees, tid, hits.into_iter().map(watched), next)
}

/// The event of an access.
pub(super) fn watched((id, address): Hit) -> EventKind {
    EventKind::Watched { id, address }
}
