//! `PTRACE_EVENT_STOP`: an interruption, a group-stop or its end, or the first stop of a new thread.

use super::super::Tracer;
use super::super::event_stop::settle;
use super::super::thread::Due;
use super::Next;
use super::exec::on_left_exec;
use super::stepped::note_stepped;
use super::syscall::on_mapped;
use crate::{EventKind, Result, Tid};

pub(super) fn on_interruption(tracer: &mut Tracer, tid: Tid, signal: i32) -> Result<Next> {
    let tracees = &mut tracer.tracees;
    if !settle(tracees, tid, signal)? {
        return Ok(Next::TrapFirst);
    }
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
