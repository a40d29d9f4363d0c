//! The ptrace(2) requests that let a thread run.

use super::super::arch;
use super::super::before::Before;
use super::super::breakpoints::trap_handler::reinstall;
use super::super::remote::stop_like_before;
use super::super::reports::Reports;
use super::super::status::{Disposition, Status};
use super::super::sys::{self, PTRACE_EVENT_STOP, is_gone};
use super::super::thread::{Due, Goal, Run, State, Stop};
use super::super::tracees::Tracees;
use crate::arch::{enters_kernel, pc as pc_of, sp as sp_of};
use crate::{Result, Signal, Tid};

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
    let armed = tracees.arm(tid);
    let thread = tracees.thread(tid)?;
    let interrupts = thread.interruption.for_user || thread.due.is_some();
    let (request, signal) = request_for(tracees, reports, tid, signal)?;
    let ran = if interrupts { sys::interrupt(tid) } else { Ok(()) }.and_then(|()| request(tid, signal));
    // A thread that has ended reports that.
    if ran.as_ref().is_ok() || ran.as_ref().is_err_and(is_gone) {
        let thread = tracees.thread_mut(tid)?;
        thread.state = State::Running;
        thread.calls.held_at_entry = false;
        thread.interruption.call = None;
        thread.arrivals = 0;
    }
    ran.and(armed)
}

type Request = fn(Tid, i32) -> Result<()>;

/// The request that runs a thread. For a step of the user's the place where the thread begins is noted.
fn request_for(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, signal: i32) -> Result<(Request, i32)> {
    let thread = tracees.thread(tid)?;
    let watches = thread.loading || thread.calls.traced || thread.handlers.is_any();
    if !matches!(thread.goal, Goal::Step(_) | Goal::Stepped) {
        let request: Request = match thread.run {
            Run::Free if thread.armed.is_passing() => sys::step,
            Run::Free if watches => sys::cont_to_syscall,
            Run::Free => sys::cont,
            _ => sys::step,
        };
        return Ok((request, signal));
    }
    let registers = arch::read(tid)?;
    let signal = if thread.owns_trap_flag && !arch::traces(&registers) {
        forget_step(tracees, reports, tid, signal)?
    } else {
        signal
    };
    let thread = tracees.thread(tid)?;
    let (pc, sp) = (pc_of(&registers), sp_of(&registers));
    // A single step does not stop at the beginning and at the end of a system call, and at a return from a handler the kernel takes the
    // program's own trap flag for the step's.
    let watches = watches || arch::is_return(&registers) || arch::may_return(&registers);
    let calls = watches && !matches!(thread.run, Run::IntoHandler { .. }) && is_at_call(tracees, tid, pc, signal)?;
    let thread = tracees.thread_mut(tid)?;
    thread.goal = Goal::Step((!calls).then(|| Before { pc, sp, traced: arch::traces(&registers) }));
    if calls {
        thread.run = Run::Free;
    }
    Ok((if calls { sys::cont_to_syscall } else { sys::step }, signal))
}

/// Lets the kernel forget that a stopped thread was single-stepped: it continues, to a `PTRACE_EVENT_STOP` before its next instruction.
/// Returns the signal that the thread gets by the next request; another one is pending.
fn forget_step(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, signal: i32) -> Result<i32> {
    let thread = tracees.thread_mut(tid)?;
    thread.owns_trap_flag = false;
    let (pid, stop) = (thread.pid, thread.stop());
    let mut kept = Vec::new();
    sys::interrupt(tid)?;
    loop {
        sys::cont(tid, 0)?;
        match reports.next_stop(tracees, tid)? {
            (_, PTRACE_EVENT_STOP) => break,
            (_, 0) => kept.push(sys::siginfo(tid)?),
            _ => {}
        }
    }
    match stop {
        Some(Stop::Signal(info) | Stop::Moved(info)) if info.signal() == signal => kept.push(info),
        _ if signal != 0 => sys::send(pid.0, tid, signal)?,
        _ => {}
    }
    stop_like_before(tracees, tid, None, kept)?;
    Ok(0)
}

/// Whether a thread is in a system call, or makes one by its next instruction although it gets this signal.
fn is_at_call(tracees: &Tracees, tid: Tid, pc: u64, signal: i32) -> Result<bool> {
    if matches!(tracees.thread(tid)?.stop(), Some(Stop::InSyscall)) {
        return Ok(true);
    }
    if signal != 0 && Status::read(tid)?.disposition(Signal(signal)) != Disposition::Ignored {
        return Ok(false);
    }
    Ok(tracees.space_at(tid)?.insn_at(pc).is_some_and(|insn| enters_kernel(&insn)))
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
    if thread.calls.traced { sys::cont_to_syscall(tid, 0) } else { sys::cont(tid, 0) }
}
