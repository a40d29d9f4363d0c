//! A thread that has executed the instruction for which the user let it run.

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

/// Tells the user of the end of a step. At a site the thread arrives there now: a breakpoint that reports it is told instead.
pub(in crate::ptrace) fn on_stepped(tracees: &mut Tracees, tid: Tid) -> Result<Next> {
    if tracees.is_silent(tid) {
        end_goal(tracees, tid);
        return Ok(Next::GoOn);
    }
    let mut registers = arch::read(tid)?;
    let thread = tracees.thread(tid)?;
    let (pid, scratch, goal) = (thread.pid, thread.slot.scratch, thread.goal);
    let space = tracees.space_of(pid)?;
    let mut is_changed = false;
    if let Goal::Step(Some(before)) = goal {
        is_changed = arch::hide_step(tid, &before, &mut registers, || space.insn_at(before.pc));
    }
    let place = space.place(pc_of(&registers)).map(|(_, place)| place);
    if let Some(place) = &place {
        slot::translate(&mut registers, place, scratch);
    }
    if is_changed || place.is_some() {
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
