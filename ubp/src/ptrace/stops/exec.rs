//! A debuggee executes another program.

use super::super::Tracer;
use super::super::breakpoints::loader::watch_program;
use super::super::goal::end_goal;
use super::super::space::Space;
use super::super::thread::{Due, Stop, Thread};
use super::super::tracees::{Actions, Tracees};
use super::Next;
use crate::process::read_process;
use crate::{Breakpoint, EventKind, Pid, Result, Tid};

/// The thread is stopped before the new program's first instruction. It has the process' id from now on, whichever thread called
/// execve(2); all other threads are gone, and so is the old address space.
pub(super) fn on_exec(tracer: &mut Tracer, tid: Tid) -> Result<Next> {
    let pid = Pid(tid.0);
    let debuggee = tracer.tracees.debuggee(pid)?;
    let (silent, old) = (debuggee.silent, debuggee.space);
    begin_program(tracer, pid)?;
    tracer.orphaned.push(old);
    if silent {
        tracer.tracees.remove_process(pid);
        return Ok(Next::Detach);
    }
    Ok(Next::LeaveCall(Some(Due::Exec)))
}

/// The thread has left execve(2).
pub(super) fn on_left_exec(tracer: &mut Tracer, tid: Tid) -> Result<Next> {
    watch_program(&mut tracer.tracees, &mut tracer.reports, tid)?;
    Ok(Next::Hold(EventKind::Exec))
}

/// Forgets what the tracer knows about the process' old program.
fn begin_program(tracer: &mut Tracer, pid: Pid) -> Result<()> {
    let Tracer { tracees, reports, events, .. } = tracer;
    let tid = pid.leader();
    for other in tracees.threads_of(pid) {
        end_goal(tracees, other);
        tracees.threads.remove(&other);
        if other != tid {
            reports.drop_reports(other);
        }
    }
    events.drop_held_of_process(pid);
    let process = read_process(pid)?;
    let mut space = Space::new(pid, process.arch)?;
    space.watches = tracees.space_of(pid)?.watches.of_new_program();
    space.breakpoints = breakpoints_of_old_program(tracees, pid)?;
    let space = tracees.add_space(space);
    let debuggee = tracees.debuggee_mut(pid)?;
    let old = std::mem::replace(&mut debuggee.space, space);
    debuggee.process = process;
    debuggee.actions = Actions::NEW;
    tracees.drop_space(old);
    tracees.add_thread(Thread::new(tid, pid));
    tracees.set_stop(tid, Stop::InSyscall)
}

/// The breakpoints of the old program. None of them is active; their counts stay readable, and their ids are not used again.
fn breakpoints_of_old_program(tracees: &mut Tracees, pid: Pid) -> Result<Vec<Option<Breakpoint>>> {
    let debuggee = tracees.debuggee(pid)?;
    let is_shared = tracees.owners(debuggee.space) > usize::from(!debuggee.silent);
    let old = tracees.space_of_mut(pid)?;
    if is_shared {
        return Ok(vec![None; old.breakpoints.len()]);
    }
    old.read_rings();
    old.settle_counts();
    let mut breakpoints = std::mem::take(&mut old.breakpoints);
    for breakpoint in breakpoints.iter_mut().flatten() {
        breakpoint.active = false;
    }
    Ok(breakpoints)
}
