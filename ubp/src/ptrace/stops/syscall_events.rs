//! The system calls that the user wants to know about.

use super::super::arch;
use super::super::status::Status;
use super::super::syscall_stop::{SyscallStop, syscall_stop};
use super::super::tracees::Tracees;
use super::Next;
use super::tell::tell_first;
use crate::arch::{pc as pc_of, sp as sp_of};
use crate::{EventKind, Result, Syscall, SyscallResult, SyscallReturn, Tid};

/// Handles a syscall-enter-stop.
pub(super) fn on_entered(tracees: &mut Tracees, tid: Tid) -> Result<Next> {
    if !tracees.thread(tid)?.calls.traced {
        return Ok(Next::GoOn);
    }
    let Some(SyscallStop::Entry(syscall)) = syscall_stop(tid)? else { return Ok(Next::GoOn) };
    let view = tracees.view(tid)?;
    let chosen = tracees.debuggee(tracees.thread(tid)?.pid)?.syscalls.contains(syscall.number);
    let calls = &mut tracees.thread_mut(tid)?.calls;
    let place = (pc_of(&view), sp_of(&view));
    let beginning = calls.begin(syscall, place, arch::restart_number(syscall.arch), chosen);
    calls.held_at_entry = beginning.is_new;
    let late = beginning.late.map(returned);
    let entered = beginning.is_new.then_some(EventKind::SyscallEntered(syscall));
    tell_first(tracees, tid, late.into_iter().chain(entered), Next::GoOn)
}

/// Handles a syscall-exit-stop: the event of a call that has returned.
pub(super) fn on_returned(tracees: &mut Tracees, tid: Tid) -> Result<Option<EventKind>> {
    if !tracees.thread(tid)?.calls.traced {
        return Ok(None);
    }
    let Some(SyscallStop::Exit(result)) = syscall_stop(tid)? else { return Ok(None) };
    if tracees.thread(tid)?.handlers.is_returning() {
        tracees.thread_mut(tid)?.calls.forget_call();
        return Ok(None);
    }
    // A handler ends the call for the program. Otherwise the kernel makes the call again, or the tracer does.
    let is_interrupted = matches!(result, SyscallResult::Interrupted | SyscallResult::Error(libc::EINTR));
    let goes_on = is_interrupted && !Status::read(tid)?.handler_due();
    Ok(tracees.thread_mut(tid)?.calls.end(result, goes_on).map(returned))
}

fn returned((syscall, result): (Syscall, SyscallResult)) -> EventKind {
    EventKind::SyscallReturned(SyscallReturn { number: syscall.number, arch: syscall.arch, result })
}
