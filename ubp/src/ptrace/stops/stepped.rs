//! A thread that has executed the instruction for which the user let it run.

use libc::user_regs_struct;
use stepping::Progress;

use super::super::arch;
use super::super::goal::end_goal;
use super::super::slot;
use super::super::thread::{Goal, Interrupted};
use super::super::tracees::Tracees;
use super::Next;
use super::breakpoint::count_arrival;
use crate::arch::{pc as pc_of, sp as sp_of};
use crate::{EventKind, Result, Tid};

/// How a thread continues that is where the program would be after an instruction: it goes on, unless the user let it run for that
/// instruction alone.
pub(super) fn go_on_unless_stepped(tracees: &Tracees, tid: Tid) -> Result<Next> {
    Ok(if tracees.thread(tid)?.goal.is_step() { Next::Stepped } else { Next::GoOn })
}

/// The instruction of a step is executed, and the user learns of something else before.
pub(super) fn note_stepped(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    let thread = tracees.thread_mut(tid)?;
    if thread.goal.is_step() {
        thread.goal = Goal::Stepped;
    }
    Ok(())
}

/// The registers of a thread behind the instruction of a step, without the trap flag that ptrace set for the step.
pub(super) fn read_behind_step(tracees: &Tracees, tid: Tid) -> Result<user_regs_struct> {
    let mut registers = arch::read(tid)?;
    let thread = tracees.thread(tid)?;
    if let Goal::Step(Some(before)) = thread.goal {
        let space = tracees.space_of(thread.pid)?;
        if arch::hide_step(tid, &before, &mut registers, || space.insn_at(before.pc)) {
            arch::write(tid, &registers)?;
        }
    }
    Ok(registers)
}

/// Tells the user of the end of a step. At a site the thread arrives there now: a breakpoint that reports it is told instead.
pub(in crate::ptrace) fn on_stepped(tracees: &mut Tracees, tid: Tid) -> Result<Next> {
    let registers = read_behind_step(tracees, tid)?;
    on_stepped_to(tracees, tid, registers)
}

/// [`on_stepped`], with the thread's registers.
pub(super) fn on_stepped_to(tracees: &mut Tracees, tid: Tid, mut registers: user_regs_struct) -> Result<Next> {
    if tracees.is_silent(tid) {
        end_goal(tracees, tid);
        return Ok(Next::GoOn);
    }
    let thread = tracees.thread(tid)?;
    let (pid, scratch) = (thread.pid, thread.slot.scratch);
    let space = tracees.space_of(pid)?;
    let place = space.place(pc_of(&registers)).map(|(_, place)| place);
    if let Some(place) = &place {
        slot::translate(&mut registers, place, scratch);
        arch::write(tid, &registers)?;
    }
    let (at, sp) = (pc_of(&registers), sp_of(&registers));
    let info = space.sites.get(&at).map(|&slot| space.info(slot).unwrap_or_default());
    let thread = tracees.thread_mut(tid)?;
    if let Some(place) = place {
        thread.end_slot();
        // One repetition is done: the instruction was counted before the first.
        thread.reported_at = thread.reported_at.or((place.progress == Progress::Before).then_some(place.pc));
    }
    let is_counted = thread.reported_at == Some(at);
    // A breakpoint of the tracer's own needs a thread that executes its instruction.
    if is_counted || info.is_none_or(|info| info.internal.is_some()) {
        return Ok(Next::Hold(EventKind::Stepped));
    }
    thread.handlers.forget(Interrupted { site: at, sp });
    thread.reported_at = Some(at);
    let hit = count_arrival(tracees, tid, at)?;
    Ok(Next::Hold(hit.map_or(EventKind::Stepped, EventKind::Hit)))
}
