//! `SIGTRAP`: the tracer's own, or the program's.

use insn::Flow;

use super::super::Tracer;
use super::super::arch;
use super::super::before::Before;
use super::super::slot;
use super::super::sys::{self, SigInfo, TRAP_TRACE};
use super::super::thread::{Goal, Run, Stop};
use super::super::tracees::Tracees;
use super::Next;
use super::breakpoint::on_site;
use super::cause::is_single_step;
use super::deferred::release_deferred;
use super::handler::on_handler_entry;
use super::mask::restore_mask;
use super::signal::on_signal;
use super::single_step::on_single_step;
use super::stepped::{go_on_unless_stepped, on_stepped_to, read_behind_step};
use super::tell::tell_touched;
use super::watched::{on_debug_trap, take_hits};
use crate::arch::{BEHIND, Insn};
use crate::core::State as EntryState;
use crate::{Pid, Result, Tid};

/// Handles a signal-delivery-stop for `SIGTRAP`.
pub(in crate::ptrace) fn on_trap(tracer: &mut Tracer, tid: Tid, info: SigInfo) -> Result<Next> {
    let tracees = &mut tracer.tracees;
    let thread = tracees.thread(tid)?;
    let pid = thread.pid;
    if matches!(thread.run, Run::IntoHandler { .. }) && info.si_code() == libc::SIGTRAP {
        on_handler_entry(tracees, tid)?;
        return go_on_unless_stepped(tracees, tid);
    }
    if let (Goal::Step(Some(before)), Run::Free) = (thread.goal, thread.run) {
        if info.si_code() == libc::SIGTRAP {
            // The first instruction of a handler.
            tracees.set_stop(tid, Stop::Event)?;
            return Ok(Next::Stepped);
        }
        if info.is_synchronous() && !arch::is_breakpoint(&info) && !arch::is_watch(&info) {
            restore_mask(tracees, tid)?;
            let registers = read_behind_step(tracees, tid)?;
            let space = tracees.space_of(pid)?;
            let owns = arch::owns_trap_flag(&before, &registers, || space.insn_at(before.pc));
            let traps = before.traced
                && is_single_step(tracees, tid, &info)?
                && !is_report_of_call(tracees, pid, &before, &info)?;
            let thread = tracees.thread_mut(tid)?;
            thread.owns_trap_flag = owns;
            thread.armed.end_pass();
            let hits = take_hits(tracees, tid, &info)?;
            if traps {
                let next = on_signal(tracees, tid, info)?;
                return tell_touched(tracees, tid, hits, next);
            }
            tracees.set_stop(tid, Stop::Trap)?;
            if hits.is_empty() {
                return on_stepped_to(tracees, tid, registers);
            }
            return tell_touched(tracees, tid, hits, Next::Stepped);
        }
    }
    if !arch::is_breakpoint(&info) {
        if let Some(next) = on_debug_trap(tracees, tid, info)? {
            return Ok(next);
        }
        if info.is_synchronous() && tracees.thread(tid)?.step().is_some() {
            restore_mask(tracees, tid)?;
            return on_single_step(tracees, tid);
        }
        if is_of_killed(tracees, tid, &info)? {
            tracees.set_stop(tid, Stop::Trap)?;
            return Ok(Next::GoOn);
        }
        return on_signal(tracees, tid, info);
    }
    let before = tracees.trap_address(tid)?;
    let space = tracees.space_of(pid)?;
    if let Some((slot, entry)) = space.find(before) {
        let epoch = space.epoch;
        if entry.state == EntryState::Active {
            tracees.thread_mut(tid)?.seen = epoch;
            restore_mask(tracees, tid)?;
            return on_site(tracer, tid, slot, before);
        }
        if !space.is_armed(before) {
            // The breakpoint was removed after the thread ran into it.
            tracees.thread_mut(tid)?.seen = epoch;
            restore_mask(tracees, tid)?;
            arch::set_pc(tid, before)?;
            tracees.set_stop(tid, Stop::Trap)?;
            return Ok(Next::GoOn);
        }
    }
    if let Some((_, place)) = space.place(before) {
        let mut registers = arch::read(tid)?;
        let thread = tracees.thread_mut(tid)?;
        slot::translate(&mut registers, &place, thread.slot.scratch.take());
        thread.end_slot();
        arch::write(tid, &registers)?;
        restore_mask(tracees, tid)?;
        tracees.set_stop(tid, Stop::Trap)?;
        return release_deferred(tracees, tid);
    }
    if let Some(info) = tracees.thread_mut(tid)?.rewound.take() {
        arch::set_pc(tid, before.wrapping_add(BEHIND))?;
        sys::set_siginfo(tid, &info)?;
        tracees.set_stop(tid, Stop::Signal(info))?;
        return on_signal(tracees, tid, info);
    }
    on_signal(tracees, tid, info)
}

/// Whether the kernel reports a system call that was single-stepped: the processor has raised no trap behind it.
fn is_report_of_call(tracees: &Tracees, pid: Pid, before: &Before, info: &SigInfo) -> Result<bool> {
    let is_call = |insn: Insn| matches!(insn.flow(), Flow::Syscall | Flow::Interrupt);
    Ok(info.si_code() != TRAP_TRACE && tracees.space_of(pid)?.insn_at(before.pc).is_some_and(is_call))
}

/// Whether a trap ends a single step that a tracer began which was killed: by itself, or because the step led into a signal
/// handler. The kernel shows the program's own trap flag.
fn is_of_killed(tracees: &mut Tracees, tid: Tid, info: &SigInfo) -> Result<bool> {
    if !tracees.thread(tid)?.step_of_killed {
        return Ok(false);
    }
    let ends =
        info.si_code() == libc::SIGTRAP || is_single_step(tracees, tid, info)? && !arch::traces(&arch::read(tid)?);
    if ends {
        tracees.thread_mut(tid)?.step_of_killed = false;
    }
    Ok(ends)
}
