//! Traps of jumps: in the bytes that one covers, and where a trampoline stops threads.

use trampoline::x86::{Trap, trap};

use super::Next;
use super::breakpoint::{on_uncounted, on_unfinished};
use super::mask::{restore_mask, restore_mask_of};
use crate::arch::BEHIND;
use crate::core::State;
use crate::ptrace::arch;
use crate::ptrace::breakpoints::arenas::map_arena;
use crate::ptrace::jumps::Ring;
use crate::ptrace::leaving::leave_counted;
use crate::ptrace::reports::Reports;
use crate::ptrace::space::page::Handled;
use crate::ptrace::sys::SigInfo;
use crate::ptrace::thread::Stop;
use crate::ptrace::tracees::Tracees;
use crate::{Result, Tid};

/// `si_code` of signals that the kernel raises for `int3`, and for a general protection (asm-generic/siginfo.h).
const SI_KERNEL: i32 = 0x80;

/// Handles a signal-delivery-stop as far as it is the trap of a jump. `None`: the signal is another one.
pub(super) fn on_trapped(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    info: &SigInfo,
) -> Result<Option<Next>> {
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
            return on_test(tracees, tid, behind, site).map(Some);
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
    Ok(None)
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
fn on_test(tracees: &mut Tracees, tid: Tid, behind: u64, site: u64) -> Result<Next> {
    restore_mask(tracees, tid)?;
    tracees.set_stop(tid, Stop::Trap)?;
    arch::set_pc(tid, behind.wrapping_sub(1))?;
    if leave_counted(tracees, tid)?.is_none() {
        // The stack is gone, and the thread meets that by itself.
        arch::set_pc(tid, behind)?;
        return Ok(Next::Run(0));
    }
    if let Some(entry) = once_more(tracees, tid, site)? {
        arch::set_pc(tid, entry)?;
        return Ok(Next::Run(0));
    }
    on_unfinished(tracees, tid, site)
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
    let Some(entry) = entry.filter(|_| is_recorded) else { return Ok(None) };
    space.read_rings();
    let ring = space.jumps.stores.get(store).and_then(|store| store.ring.as_ref());
    Ok(ring.is_some_and(Ring::has_room).then_some(entry))
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
    let is_unwanted = sent != Some(site) && space.jumps.covering.note_entered(at);
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
