//! New threads and processes of debuggees.

use super::super::Tracer;
use super::super::arch;
use super::super::breakpoints::arenas::complete_storage;
use super::super::breakpoints::jump_memory::separate_counters;
use super::super::breakpoints::trap_handler::{complete_page, inherited_actions, install_everywhere};
use super::super::event_stop::settle;
use super::super::lifecycle::release::release_process;
use super::super::reports::Reports;
use super::super::sys::{self, PTRACE_EVENT_STOP, is_gone};
use super::super::thread::{Due, Hold, InSlot, Thread};
use super::super::tracees::{Debuggee, Tracees};
use super::Next;
use crate::{EventKind, Pid, Process, Result, Stdio, Tid};

/// A thread made another thread, of its own process or of a new one; ptrace traces it already.
pub(super) fn on_clone(tracer: &mut Tracer, tid: Tid, event: i32) -> Result<Next> {
    let child = Tid(sys::event_message(tid)? as i32);
    let Tracer { tracees, reports, .. } = tracer;
    let pid = tracees.thread(tid)?.pid;
    if std::fs::exists(format!("/proc/{pid}/task/{child}")).unwrap_or(false) {
        // An attach that was under way may have seen the thread first.
        if !tracees.threads.contains_key(&child) {
            tracees.add_thread(Thread { due: Some(Due::Started), ..Thread::new(child, pid) });
        }
        reports.queue_early(child);
        return Ok(Next::GoOn);
    }
    on_fork(tracees, reports, tid, Pid(child.0), event == libc::PTRACE_EVENT_VFORK)
}

fn on_fork(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, child: Pid, is_vfork: bool) -> Result<Next> {
    let shares = arch::shares_memory(&arch::read(tid)?, &tracees.space_at(tid)?.memory);
    let follow = tracees.options.follow_forks && !tracees.is_silent(tid);
    tracees.thread_mut(tid)?.vforking = is_vfork;
    let differs = add_child(tracees, tid, child, shares, shares && !follow)?;
    match prepare_child(tracees, reports, child, shares, follow, differs) {
        Ok(()) => {}
        Err(error) if is_gone(&error) => {
            // The child was killed before it ran, and the user never learns of it.
            if let Some(debuggee) = tracees.debuggees.get_mut(&child) {
                debuggee.silent = true;
            }
            return Ok(Next::GoOn);
        }
        Err(error) => return Err(error),
    }
    if !follow {
        return Ok(if shares { Next::GoOnWithChild(child.leader()) } else { Next::GoOn });
    }
    if let Some(thread) = tracees.threads.get_mut(&child.leader()) {
        thread.hold = Hold::ForUser;
        thread.pins = 0;
    }
    if is_vfork {
        return Ok(Next::Hold(EventKind::Forked { child }));
    }
    Ok(Next::LeaveCall(Some(Due::Forked(child))))
}

/// Waits for the first stop of a new process, and prepares its memory or detaches it.
fn prepare_child(
    tracees: &mut Tracees,
    reports: &mut Reports,
    child: Pid,
    shares: bool,
    follow: bool,
    differs: bool,
) -> Result<()> {
    loop {
        let (signal, event) = reports.next_stop(tracees, child.leader())?;
        if event == PTRACE_EVENT_STOP {
            // The child has run no instruction that could have raised a trap.
            let _ = settle(tracees, child.leader(), signal)?;
            break;
        }
        sys::cont(child.leader(), 0)?;
    }
    if !shares && follow {
        complete_page(tracees, reports, child)?;
    }
    if shares || follow {
        install_everywhere(tracees, reports, child)?;
    }
    match (shares, follow) {
        (false, true) => {
            complete_storage(tracees, reports, child, differs)?;
            separate_counters(tracees, reports, child)
        }
        (false, false) => release_process(tracees, reports, child),
        (true, _) => Ok(()),
    }
}

/// Adds a new process. Returns whether sites may have changed while the kernel copied the memory; breakpoint instructions of
/// sites that are gone are removed from the copy.
fn add_child(tracees: &mut Tracees, parent: Tid, child: Pid, shares: bool, silent: bool) -> Result<bool> {
    let thread = tracees.thread(parent)?;
    let (pid, seen, loading) = (thread.pid, thread.seen, thread.loading);
    let handlers = thread.handlers.clone();
    let slot = InSlot { scratch: thread.slot.scratch, ..InSlot::default() };
    let id = tracees.debuggee(pid)?.space;
    let space = if shares {
        tracees.share_space(id);
        id
    } else {
        let old = tracees.space_of(pid)?;
        let mut space = old.fork(child)?;
        if seen != old.epoch {
            space.restore_retired();
        }
        space.finish_threads(|_| false);
        space.remove_targets();
        tracees.add_space(space)
    };
    let differs = !shares && seen != tracees.space_of(pid)?.epoch;
    let old = tracees.debuggee(pid)?;
    let process = Process { pid: child, threads: Default::default(), ..old.process.clone() };
    let (loader, exit_kill, syscalls) = (old.loader.clone(), old.exit_kill, old.syscalls);
    let actions = inherited_actions(tracees, pid, child);
    let debuggee = Debuggee::new(process, space, Stdio::default(), exit_kill);
    tracees.debuggees.insert(child, Debuggee { loader, actions, syscalls, silent, ..debuggee });
    let thread = Thread { seen: 0, loading, handlers, slot, pins: 1, ..Thread::new(child.leader(), child) };
    tracees.add_thread(thread);
    Ok(differs)
}
