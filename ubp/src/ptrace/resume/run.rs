//! The ptrace(2) requests that let a thread run.

use super::super::breakpoints::trap_handler::reinstall;
use super::super::reports::Reports;
use super::super::sys::{self, is_gone};
use super::super::thread::{Due, Run, State, Stop};
use super::super::tracees::Tracees;
use crate::{Result, Tid};

/// Runs a thread from where its registers say.
pub(super) fn run_thread(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, signal: i32) -> Result<()> {
    let thread = tracees.thread_mut(tid)?;
    if thread.pins > 0 {
        return Ok(());
    }
    if matches!(thread.state, State::Stopped(Stop::Group)) {
        thread.state = State::Listening;
        return sys::listen(tid);
    }
    if signal == 0 {
        reinstall(tracees, reports, tid)?;
    }
    let thread = tracees.thread(tid)?;
    let interrupts = thread.interruption.for_user || thread.due.is_some();
    let request = match thread.run {
        Run::Free if thread.loading || thread.handlers.is_any() => sys::cont_to_syscall,
        Run::Free => sys::cont,
        _ => sys::step,
    };
    let ran = if interrupts { sys::interrupt(tid) } else { Ok(()) }.and_then(|()| request(tid, signal));
    // A thread that has ended reports that.
    if ran.as_ref().is_ok() || ran.as_ref().is_err_and(is_gone) {
        let thread = tracees.thread_mut(tid)?;
        thread.state = State::Running;
        thread.interruption.call = None;
    }
    ran
}

/// Runs a thread for one instruction.
pub(super) fn run_one_instruction(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    tracees.thread_mut(tid)?.state = State::Running;
    sys::step(tid, 0)
}

/// Runs a thread out of the system call that it is in, to a `PTRACE_EVENT_STOP`.
pub(super) fn leave_syscall(tracees: &mut Tracees, tid: Tid, due: Option<Due>) -> Result<()> {
    let thread = tracees.thread_mut(tid)?;
    thread.due = due.or(thread.due);
    thread.state = State::Running;
    sys::interrupt(tid)?;
    sys::cont(tid, 0)
}
