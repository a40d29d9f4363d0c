//! The end of a thread, or of a process with its last thread.

use super::super::Tracer;
use super::super::goal::end_goal;
use crate::{EventKind, Result, Tid};

pub(super) fn on_end(tracer: &mut Tracer, tid: Tid, kind: EventKind) -> Result<()> {
    let Tracer { tracees, events, .. } = tracer;
    end_goal(tracees, tid);
    let Some(thread) = tracees.threads.remove(&tid) else { return Ok(()) };
    let pid = thread.pid;
    let debuggee = tracees.debuggee_mut(pid)?;
    debuggee.process.threads.remove(&tid);
    let (silent, space) = (debuggee.silent, debuggee.space);
    if tid == pid.leader() {
        if !silent {
            // In a memory where the user knows other processes the breakpoints are not this process' alone.
            let last = if tracees.owners(space) == 1 {
                tracees.space_of_mut(pid)?.read_rings();
                tracees.space_of_mut(pid)?.settle_counts();
                std::mem::take(&mut tracees.space_of_mut(pid)?.breakpoints)
            } else {
                Vec::new()
            };
            events.keep_breakpoints(pid, last);
        }
        tracees.remove_process(pid);
        events.drop_held_of_process(pid);
    } else {
        events.drop_held_of_thread(tid);
        if let Ok(space) = tracees.space_of_mut(pid) {
            space.finish_threads(|other| other != tid);
        }
    }
    match kind {
        _ if silent => {}
        _ if tid == pid.leader() => events.emit(pid, tid, kind),
        _ if tracees.options.threads => events.emit(pid, tid, EventKind::ThreadExited),
        _ => {}
    }
    tracer.orphaned.push(space);
    Ok(())
}
