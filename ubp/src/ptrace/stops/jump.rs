//! Signals for threads at a jump: in the bytes that it covers, in the mirror, or in the trampoline.

use trampoline::x86::{Trap, trap};

use super::super::arch;
use super::super::breakpoints::arenas::map_arena;
use super::super::leaving::{Left, leave_counted, leave_jump, uncount_left};
use super::super::reports::Reports;
use super::super::space::page::Handled;
use super::super::sys::{self, SigInfo};
use super::super::thread::Stop;
use super::super::tracees::Tracees;
use super::Next;
use super::breakpoint::{on_counted, on_uncounted};
use super::cause::is_single_step;
use super::mask::{restore_mask, restore_mask_of};
use super::pass::pass;
use crate::arch::BEHIND;
use crate::core::State;
use crate::{Result, Tid};

/// `si_code` of signals that the kernel raises for `int3`, and for a general protection (asm-generic/siginfo.h).
const SI_KERNEL: i32 = 0x80;

/// Handles a signal-delivery-stop as far as it is that of a jump. `None`: the signal is another one, and the thread is where it would be without
/// jumps.
pub(super) fn on_jump(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, info: SigInfo) -> Result<Option<Next>> {
    if info.signal() == libc::SIGILL && is_of_killed(tracees, tid)? {
        restore_mask_of(tracees, tid, Handled::Undefined)?;
        tracees.set_stop(tid, Stop::Trap)?;
        return Ok(Some(Next::GoOn));
    }
    if tracees.space_at(tid)?.jumps.is_empty() {
        return Ok(None);
    }
    let pc = arch::pc(tid)?;
    let trap = match (info.signal(), info.si_code()) {
        (libc::SIGTRAP, SI_KERNEL) => Some((Trap::Breakpoint, tracees.trap_address(tid)?.wrapping_add(BEHIND))),
        // ILL_ILLOPN
        (libc::SIGILL, 2) => Some((Trap::Undefined, pc)),
        (libc::SIGSEGV, SI_KERNEL) => Some((Trap::Protection, pc)),
        _ => None,
    };
    if let Some((Trap::Breakpoint, behind)) = trap {
        if let Some((_, site)) = tracees.space_at(tid)?.jumps.stopped(behind) {
            return on_test(tracees, tid, behind, site);
        }
    }
    if let Some((kind, pc)) = trap {
        let space = tracees.space_at(tid)?;
        let entered = space.jumps.entered(kind, pc).map(|(jump, offset)| (jump.site, offset));
        if let Some((site, offset)) = entered.filter(|(site, _)| !space.is_replaced(*site)) {
            restore_mask_of(tracees, tid, if kind == Trap::Undefined { Handled::Undefined } else { Handled::Trap })?;
            return on_covered(tracees, reports, tid, site, offset).map(Some);
        }
    }
    let place = tracees.space_at(tid)?.jumps.inside(pc);
    if place.is_none() {
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

/// Whether a thread branched into a jump of a tracer that was killed, whose entries are retired. The program's bytes stand there again.
fn is_of_killed(tracees: &mut Tracees, tid: Tid) -> Result<bool> {
    let (pc, space) = (arch::pc(tid)?, tracees.space_at(tid)?);
    let is_retired = space.find(pc).is_some_and(|(_, entry)| entry.state == State::Retired && entry.mark != 0);
    let is_restored = || space.memory.read_array(pc).is_some_and(|[byte]| trap(byte) != Some(Trap::Undefined));
    let (epoch, is_old) = (space.epoch, is_retired && is_restored());
    // The program's own instruction raises the signal once more.
    Ok(is_old && std::mem::replace(&mut tracees.thread_mut(tid)?.seen, epoch) != epoch)
}

/// A trampoline stopped a thread behind its `int3`, because a condition may hold or the ring is full.
fn on_test(tracees: &mut Tracees, tid: Tid, behind: u64, site: u64) -> Result<Option<Next>> {
    restore_mask(tracees, tid)?;
    tracees.set_stop(tid, Stop::Trap)?;
    arch::set_pc(tid, behind.wrapping_sub(1))?;
    if leave_counted(tracees, tid)?.is_none() {
        // The stack is gone, and the thread meets that by itself.
        arch::set_pc(tid, behind)?;
        return Ok(Some(Next::Run(0)));
    }
    if let Some(entry) = once_more(tracees, tid, site)? {
        arch::set_pc(tid, entry)?;
        return Ok(Some(Next::Run(0)));
    }
    act(tracees, tid, site).map(Some)
}

/// Where a thread that found the ring full records its arrival, after the ring was read. `None`: the tracer records it.
fn once_more(tracees: &mut Tracees, tid: Tid, site: u64) -> Result<Option<u64>> {
    let thread = tracees.thread(tid)?;
    if thread.pins > 0 || thread.goal.is_step() || tracees.is_silent(tid) {
        return Ok(None);
    }
    let space = tracees.space_of_mut(tracees.thread(tid)?.pid)?;
    let Some(jump) = space.jumps.of_member(site) else { return Ok(None) };
    let (store, entry) = (jump.store, jump.trampoline.entry((site - jump.site) as u8));
    let is_recorded = jump.member(site).is_some_and(|member| member.recording.is_some());
    Ok(entry.filter(|_| is_recorded && space.make_room(store)))
}

/// Does for a thread at a site what the trampoline has not done.
fn act(tracees: &mut Tracees, tid: Tid, site: u64) -> Result<Next> {
    let member = tracees.space_at(tid)?.jumps.of_member(site).and_then(|jump| jump.member(site));
    if member.is_some_and(|member| member.recording.is_some()) {
        return on_uncounted(tracees, tid, site);
    }
    on_counted(tracees, tid, site)
}

/// A thread entered the run of a jump. It goes on with the instruction that begins there.
fn on_covered(tracees: &mut Tracees, reports: &mut Reports, tid: Tid, site: u64, offset: u8) -> Result<Next> {
    tracees.set_stop(tid, Stop::Trap)?;
    let (pid, steps) = (tracees.thread(tid)?.pid, tracees.thread(tid)?.goal.is_step());
    let at = site + u64::from(offset);
    let sent = tracees.thread_mut(tid)?.passed.take();
    if tracees.thread(tid)?.pins > 0 {
        // An operation needs the thread stopped, and the jump may go meanwhile.
        arch::set_pc(tid, at)?;
        return Ok(Next::Stay);
    }
    let space = tracees.space_of_mut(pid)?;
    // The tracer may have sent the thread there.
    let is_unwanted = sent != Some(site) && space.jumps.note_entered(at);
    let (entry, is_member) = match space.jumps.get(site) {
        Some(jump) => (jump.trampoline.entry(offset), jump.member(at).is_some()),
        None => return Ok(Next::GoOn),
    };
    if is_unwanted {
        let id = tracees.debuggee(pid)?.space;
        tracees.unwanted_jumps.push((id, site));
    }
    if let Some(entry) = entry.filter(|_| !steps) {
        arch::set_pc(tid, entry)?;
        let traces = arch::traces(&arch::read(tid)?);
        tracees.thread_mut(tid)?.traced_at = traces.then_some(at);
        return Ok(Next::Run(0));
    }
    // The instruction begins in the midst of another one, or the user steps.
    arch::set_pc(tid, at)?;
    if is_member {
        return on_uncounted(tracees, tid, at);
    }
    let space = tracees.space_of_mut(pid)?;
    let code = space.jumps.get(site).map(|jump| jump.code().get(usize::from(offset)..).unwrap_or_default().to_vec());
    let code = code.unwrap_or_default();
    let mut slot = space.plain_answer(at, &code);
    if slot.is_none() {
        map_arena(tracees, reports, tid, pid, (at, at, 1))?;
        slot = tracees.space_of_mut(pid)?.plain_answer(at, &code);
        tracees.space_of_mut(pid)?.flush();
    }
    Ok(slot.map_or(Next::GoOn, Next::Pass))
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
        let (tests, records) =
            member.map_or((false, false), |member| (member.test.is_some(), member.recording.is_some()));
        if left.is_undone() && !records {
            space.count_once(left.pc);
        }
        if tests || records {
            tracees.set_stop(tid, Stop::Trap)?;
            return act(tracees, tid, left.pc).map(Some);
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
