//! Signals for threads that are, or may be, in a slot.

use insn::Flow;
use stepping::{Exit, Progress};

use super::super::arch;
use super::super::resend::{resend, take_resent};
use super::super::space::{SlotId, Space};
use super::super::sys::{self, SigInfo};
use super::super::thread::{Run, Step, Stop};
use super::super::tracees::Tracees;
use super::Next;
use super::cause::is_single_step;
use super::deferred::release_deferred;
use super::slot_trap::is_trap_held_off;
use crate::arch::{decode, pc as pc_of};
use crate::{Result, Tid};

/// Handles a signal-delivery-stop for a signal that is none of our traps.
pub(super) fn on_signal(tracees: &mut Tracees, tid: Tid, info: SigInfo) -> Result<Next> {
    // The thread did not come to the handler that it was about to enter.
    let thread = tracees.thread_mut(tid)?;
    if matches!(thread.run, Run::IntoHandler { .. }) {
        thread.run = Run::Free;
    }
    if let Some(info) = take_resent(tracees, tid, &info)? {
        sys::set_siginfo(tid, &info)?;
        tracees.set_stop(tid, Stop::Signal(info))?;
        // The user has seen the signal.
        return arrange(tracees, tid, info, Next::GoOn);
    }
    arrange(tracees, tid, info, Next::Signal(info.signal()))
}

/// Brings the thread to where the program may see the signal; `then` is what happens there.
fn arrange(tracees: &mut Tracees, tid: Tid, info: SigInfo, then: Next) -> Result<Next> {
    let pc = arch::pc(tid)?;
    let place = tracees.space_at(tid)?.place(pc);
    if is_single_step(tracees, tid, &info)? && is_trap_held_off(tracees, tid, pc)? {
        tracees.leave_slot(tid)?;
        tracees.set_stop(tid, Stop::Trap)?;
        return release_deferred(tracees, tid);
    }
    let Some((slot, place)) = place else { return Ok(then) };
    if info.is_synchronous() {
        on_fault(tracees, tid, info)?;
        return Ok(then);
    }
    if place.progress == Progress::Before && can_finish_first(tracees.space_at(tid)?, slot) {
        // The signal can come after the instruction as well, and the tracer does not have to undo anything then.
        let thread = tracees.thread_mut(tid)?;
        thread.slot.deferred.push(info);
        thread.run = Run::Step(thread.step().copied().unwrap_or(Step { slot, probe: None }));
        return Ok(Next::Step);
    }
    Ok(then)
}

/// Whether an instruction can be finished before a signal is delivered: it neither blocks nor enters the kernel, and the kernel
/// does not take our trap flag for the program's (`iret`).
pub(in crate::ptrace) fn can_finish_first(space: &Space, slot: SlotId) -> bool {
    let Some(entry) = space.entry(slot) else { return true };
    let flow = decode(entry.bytes(), space.mode).map(|insn| insn.flow());
    !matches!(flow, Ok(Flow::Syscall | Flow::Interrupt | Flow::Far))
}

/// The instruction in the slot faulted. For the program the original instruction did.
fn on_fault(tracees: &mut Tracees, tid: Tid, mut info: SigInfo) -> Result<()> {
    if let Some((_, place)) = tracees.space_at(tid)?.place(info.address()) {
        info.set_address(place.pc);
        sys::set_siginfo(tid, &info)?;
        tracees.set_stop(tid, Stop::Signal(info))?;
    }
    correct_faulted_call(tracees.space_at(tid)?, tid)?;
    tracees.leave_slot(tid)?;
    for waiting in std::mem::take(&mut tracees.thread_mut(tid)?.slot.deferred) {
        resend(tracees, tid, waiting)?;
    }
    Ok(())
}

/// Corrects the return address in a slot that a call may have written below the stack before it faulted.
fn correct_faulted_call(space: &Space, tid: Tid) -> Result<()> {
    let registers = arch::read(tid)?;
    let Some((slot, _)) = space.slot_at(pc_of(&registers)) else { return Ok(()) };
    let (Some(passing), Some(entry)) = (space.passing(slot), space.entry(slot)) else { return Ok(()) };
    if let Exit::StepThenReturnAddress(size) = passing.code().exit {
        let next = entry.site.wrapping_add(entry.bytes().len() as u64);
        arch::correct_faulted_call(tid, &registers, space.slot_address(slot), next, size);
    }
    Ok(())
}
