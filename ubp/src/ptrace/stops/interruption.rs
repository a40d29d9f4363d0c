//! `PTRACE_EVENT_STOP`: an interruption, a group-stop or its end, or the first stop of a new thread.

use super::super::Tracer;
use super::super::event_stop::settle;
use super::super::thread::Due;
use super::super::tracees::Tracees;
use super::Next;
use super::exec::on_left_exec;
use super::stepped::note_stepped;
use super::syscall::on_mapped;
use super::tell::tell_first;
use crate::{EventKind, Result, Signal, Tid};

pub(super) fn on_interruption(tracer: &mut Tracer, tid: Tid, signal: i32) -> Result<Next> {
    let tracees = &mut tracer.tracees;
    if !settle(tracees, tid, signal)? {
        return Ok(Next::TrapFirst);
    }
    let change = group_change(tracees, tid, signal)?;
    let next = on_stop(tracer, tid)?;
    tell_first(&mut tracer.tracees, tid, change, next)
}

/// What is due at the stop.
fn on_stop(tracer: &mut Tracer, tid: Tid) -> Result<Next> {
    let tracees = &mut tracer.tracees;
    let reports_threads = tracees.options.threads && !tracees.is_silent(tid);
    let thread = tracees.thread_mut(tid)?;
    match thread.due.take() {
        Some(Due::Started) if reports_threads => return Ok(Next::Hold(EventKind::ThreadStarted)),
        Some(Due::Forked(child)) => {
            note_stepped(tracees, tid)?;
            return Ok(Next::Hold(EventKind::Forked { child }));
        }
        Some(Due::Exec) => return on_left_exec(tracer, tid),
        Some(Due::Mapped) => return on_mapped(tracer, tid),
        Some(Due::Started) | None => {}
    }
    if std::mem::take(&mut thread.interruption.for_user) {
        return Ok(Next::Hold(EventKind::Interrupted));
    }
    Ok(Next::GoOn)
}

/// The beginning or the end of a group-stop that the user wants to know about.
fn group_change(tracees: &mut Tracees, tid: Tid, signal: i32) -> Result<Option<EventKind>> {
    if !tracees.options.group_stops {
        return Ok(None);
    }
    let thread = tracees.thread_mut(tid)?;
    let group = (signal != libc::SIGTRAP).then_some(signal);
    let before = std::mem::replace(&mut thread.group_stop, group);
    Ok(match (before, group) {
        (before, Some(signal)) if before != group => Some(EventKind::GroupStopped(Signal(signal))),
        (Some(_), None) => Some(EventKind::Continued),
        _ => None,
    })
}
