//! `PTRACE_EVENT_STOP`: an interruption, a group-stop or its end, or the first stop of a new thread.

use super::super::Tracer;
use super::super::event_stop::settle;
use super::super::thread::Afterwards;
use super::Next;
use super::exec::on_left_exec;
use super::syscall::on_mapped;
use crate::{EventKind, Result, Tid};

pub(super) fn on_interruption(tracer: &mut Tracer, tid: Tid, signal: i32) -> Result<Next> {
    let tracees = &mut tracer.tracees;
    if !settle(tracees, tid, signal)? {
        return Ok(Next::TrapFirst);
    }
    let reports_threads = tracees.options.threads && !tracees.is_silent(tid);
    let thread = tracees.thread_mut(tid)?;
    match thread.afterwards.take() {
        Some(Afterwards::Forked(child)) => return Ok(Next::Hold(EventKind::Forked { child })),
        Some(Afterwards::Exec) => return on_left_exec(tracer, tid),
        Some(Afterwards::Mapped) => return on_mapped(tracer, tid),
        None => {}
    }
    if std::mem::take(&mut thread.new) && reports_threads {
        return Ok(Next::Hold(EventKind::ThreadStarted));
    }
    if std::mem::take(&mut thread.interrupt_asked) {
        return Ok(Next::Hold(EventKind::Interrupted));
    }
    Ok(Next::GoOn)
}
