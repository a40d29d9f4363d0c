//! The stops of `PTRACE_INTERRUPT`, and what they change in a thread.

use super::arch;
use super::leaving::leave_jump;
use super::status::Status;
use super::sys;
use super::thread::{State, Stop};
use super::tracees::Tracees;
use crate::arch::BEHIND;
use crate::{Result, Tid};

/// Notes a `PTRACE_EVENT_STOP`, or a group-stop where `signal` is not `SIGTRAP`. Returns whether the thread is usable: where it
/// is not, a trap that the thread's last instruction raised has to come first ([`let_trap_come`]).
pub(super) fn settle(tracees: &mut Tracees, tid: Tid, signal: i32) -> Result<bool> {
    tracees.set_stop(tid, if signal == libc::SIGTRAP { Stop::Event } else { Stop::Group })?;
    tracees.thread_mut(tid)?.vforking = false;
    if is_trap_first(tracees, tid)? {
        return Ok(false);
    }
    // In a group-stop the trap of a trampoline may be due. It comes when the job continues.
    let is_stopping = tracees.space_at(tid)?.jumps.stopped(arch::pc(tid)?).is_some() && Status::read(tid)?.trap_due();
    if !is_stopping {
        leave_jump(tracees, tid)?;
    }
    restart_interrupted_call(tracees, tid)?;
    note_key(tracees, tid)?;
    tracees.note_seen(tid)?;
    Ok(true)
}

/// Notes by which key records name a stopped thread.
pub(super) fn note_key(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    let pid = tracees.thread(tid)?.pid;
    if tracees.space_of(pid)?.has_rings() {
        let key = arch::thread_key(&arch::read(tid)?);
        tracees.space_of_mut(pid)?.note_key(key, pid, tid);
    }
    Ok(())
}

/// The kernel reports an interruption before a signal that the thread's last instruction raised. Returns whether such a signal
/// concerns the tracer: the thread may be at a breakpoint or in a slot, or may have run into a watchpoint.
fn is_trap_first(tracees: &Tracees, tid: Tid) -> Result<bool> {
    let thread = tracees.thread(tid)?;
    let group = matches!(thread.stop(), Some(Stop::Group));
    if group && thread.pins == 0 && !thread.interruption.for_user {
        // The signal comes when the job continues.
        return Ok(false);
    }
    let pc = arch::pc(tid)?;
    let space = tracees.space_of(thread.pid)?;
    let concerned = thread.armed.is_any()
        || thread.step_of_killed
        || thread.step().is_some()
        || thread.goal.is_step()
        || space.slot_at(pc).is_some()
        || space.jumps.is_covered(pc)
        || space.jumps.inside(pc).is_some()
        || space.find(pc.wrapping_sub(BEHIND)).is_some();
    Ok(concerned && Status::read(tid)?.trap_due())
}

/// Lets a thread run into the signal that its last instruction raised.
pub(super) fn let_trap_come(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    let thread = tracees.thread_mut(tid)?;
    thread.state = State::Running;
    sys::cont(tid, 0)
}

/// Makes an interrupted system call once more that the kernel does not restart by itself: without the interruption the program
/// would not have seen `EINTR`.
fn restart_interrupted_call(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    let mut registers = arch::read(tid)?;
    let call = tracees.thread_mut(tid)?.interruption.call.take();
    if call.is_some_and(|call| call.keep_rest(&mut registers)) {
        return arch::write(tid, &registers);
    }
    if !arch::returned_eintr(&registers, &tracees.space_at(tid)?.memory) {
        return Ok(());
    }
    // A signal may be the true cause.
    if Status::read(tid)?.handler_due() {
        return Ok(());
    }
    arch::restart(tid, &mut registers, call)?;
    arch::write(tid, &registers)
}
