//! Signals for threads at a jump: in the bytes that it covers, on the way to its trampoline, or there.

use super::super::arch;
use super::super::leaving::{Left, leave_counted, leave_jump, uncount_left};
use super::super::reports::Reports;
use super::super::space::page::Handled;
use super::super::sys::{self, SigInfo};
use super::super::thread::Stop;
use super::super::tracees::Tracees;
use super::Next;
use super::breakpoint::on_unfinished;
use super::cause::is_single_step;
use super::mask::restore_mask_of;
use super::pass::pass;
use super::trapped::on_trapped;
use crate::{Result, Tid};

/// Handles a signal-delivery-stop as far as it is that of a jump. `None`: the signal is another one, and the thread is where it would be without
/// jumps.
pub(super) fn on_jump(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, info: SigInfo) -> Result<Option<Next>> {
    if let Some(next) = on_trapped(tracees, reports, tid, &info)? {
        return Ok(Some(next));
    }
    if tracees.space_at(tid)?.jumps.is_empty() {
        return Ok(None);
    }
    let pc = arch::pc(tid)?;
    if tracees.space_at(tid)?.jumps.inside(pc).is_none() {
        tracees.thread_mut(tid)?.traced_at = None;
        return Ok(None);
    }
    if is_single_step(tracees, tid, &info)? && is_between(tracees, tid, pc)? {
        tracees.set_stop(tid, Stop::Trap)?;
        if tracees.thread(tid)?.pins > 0 {
            leave_jump(tracees, tid)?;
            tracees.thread_mut(tid)?.traced_at = None;
            return Ok(Some(Next::Stay));
        }
        return Ok(Some(Next::Run(0)));
    }
    tracees.thread_mut(tid)?.traced_at = None;
    if !info.is_synchronous() {
        leave_jump(tracees, tid)?;
        pass_recorded(tracees, tid)?;
        return Ok(None);
    }
    let Some(left) = leave_counted(tracees, tid)? else { return Ok(None) };
    on_fault(tracees, tid, info, pc, &left)
}

/// Whether a single step of the program's ended within what stands for one of its instructions.
fn is_between(tracees: &mut Tracees, tid: Tid, pc: u64) -> Result<bool> {
    let Some((at, is_probe)) = tracees.space_at(tid)?.jumps.original(pc) else { return Ok(false) };
    let thread = tracees.thread_mut(tid)?;
    if thread.goal.is_step() || thread.step().is_some() {
        return Ok(false);
    }
    match thread.traced_at {
        Some(begun) => Ok(begun == at),
        // The first step of the thread at this jump: it has not begun an instruction of the program where the step ended in a probe.
        None => {
            thread.traced_at = is_probe.then_some(at);
            Ok(is_probe)
        }
    }
}

/// Sends a thread whose arrival was recorded into the slot of its site, where signals find it.
fn pass_recorded(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    let at = arch::pc(tid)?;
    let thread = tracees.thread_mut(tid)?;
    if thread.reported_at != Some(at) || thread.pins > 0 {
        return Ok(());
    }
    thread.reported_at = None;
    match tracees.space_at(tid)?.sites.get(&at).copied() {
        Some(slot) => pass(tracees, tid, slot).map(drop),
        None => Ok(()),
    }
}

/// An instruction in a trampoline, or in the mirror, raised a signal. For the program its own instruction did, unless that of a probe did.
fn on_fault(tracees: &mut Tracees, tid: Tid, mut info: SigInfo, pc: u64, left: &Left) -> Result<Option<Next>> {
    let pid = tracees.thread(tid)?.pid;
    let is_fault = matches!(info.signal(), libc::SIGSEGV | libc::SIGBUS);
    if is_fault && left.place.is_some_and(|place| place.own) {
        let signal = Handled::of(info.signal()).unwrap_or(Handled::Segment);
        restore_mask_of(tracees, tid, signal)?;
        if tracees.thread(tid)?.pins > 0 {
            uncount_left(tracees, tid, left)?;
            tracees.set_stop(tid, Stop::Trap)?;
            return Ok(Some(Next::Stay));
        }
        // There is no stack below the red zone, or no memory that a test reads: the tracer acts.
        let space = tracees.space_of_mut(pid)?;
        let member = space.jumps.get(left.site).and_then(|jump| jump.member(left.pc));
        let (tests, acts) = member.map_or((false, false), |member| (member.test.is_some(), member.acts()));
        if left.is_undone() && !acts {
            space.count_once(left.pc);
        }
        if tests || acts {
            tracees.set_stop(tid, Stop::Trap)?;
            return on_unfinished(tracees, tid, left.pc).map(Some);
        }
        let copy = space.jumps.get(left.site).and_then(|jump| jump.trampoline.copy((left.pc - left.site) as u8));
        if let Some(copy) = copy {
            arch::set_pc(tid, copy)?;
            tracees.set_stop(tid, Stop::Trap)?;
            return Ok(Some(Next::Run(0)));
        }
    }
    // An instruction that faults counts as executed; the thread arrives once more behind its handler, as at a breakpoint instruction.
    if info.signal() == libc::SIGTRAP {
        uncount_left(tracees, tid, left)?;
    }
    if info.address() == pc {
        info.set_address(left.pc);
        sys::set_siginfo(tid, &info)?;
        tracees.set_stop(tid, Stop::Signal(info))?;
    }
    Ok(None)
}
