//! The end of a single step of the tracer's.

use insn::Flow;
use stepping::{Exit, Progress};

use super::super::arch;
use super::super::slot;
use super::super::space::{SlotId, Space};
use super::super::thread::{Run, Step, Stop};
use super::super::tracees::Tracees;
use super::Next;
use super::deferred::{release_deferred, trap_before_deferred};
use super::pass::emulate;
use super::slot_trap::is_trap_held_off;
use crate::arch::{decode, is_passed_whole, pc as pc_of, set};
use crate::{Result, Tid};

/// How often a probing step may complete before its outcome is accepted. The processor can access memory that the kernel cannot
/// access for the tracer (device memory).
const PROBES: u8 = 3;

/// A single step of ours is done.
pub(super) fn on_single_step(tracees: &mut Tracees, tid: Tid) -> Result<Next> {
    tracees.set_stop(tid, Stop::Trap)?;
    let thread = tracees.thread_mut(tid)?;
    let Some(step) = thread.step().copied() else { return Ok(Next::GoOn) };
    thread.run = Run::Free;
    let mut registers = arch::read(tid)?;
    if let Some((saved, tries)) = step.probe.filter(|(_, tries)| *tries < PROBES) {
        tracees.thread_mut(tid)?.slot.scratch = None;
        arch::write(tid, &saved)?;
        return emulate(tracees, tid, step.slot, tries + 1);
    }
    let scratch = tracees.thread(tid)?.slot.scratch;
    let trapped = arch::traces(&registers) && !is_trap_held_off(tracees, tid, pc_of(&registers))?;
    let space = tracees.space_at(tid)?;
    if let Some((slot, place)) = space.place(pc_of(&registers)) {
        let steps = tracees.thread(tid)?.goal.is_step() && is_repeated(space, slot);
        if slot == step.slot && place.progress == Progress::Before && !trapped && !steps {
            // One step does not complete a repeated instruction.
            return between_repetitions(tracees, tid, step);
        }
        slot::translate(&mut registers, &place, scratch);
        if steps && place.progress == Progress::Before {
            // The instruction was counted before its first repetition.
            tracees.thread_mut(tid)?.reported_at = Some(place.pc);
        }
    } else {
        if let Some((reg, value)) = scratch {
            set(&mut registers, reg, value);
        }
        let passing = space.passing(step.slot).zip(space.entry(step.slot));
        let exit = passing.as_ref().map(|(passing, entry)| (passing.code().exit, entry));
        if let Some((Exit::StepThenReturnAddress(size), entry)) = exit {
            let next = entry.site.wrapping_add(entry.bytes().len() as u64);
            let slot = space.slot_address(step.slot);
            arch::correct_return_address(tid, &mut registers, &space.memory, slot, next, size);
        }
    }
    arch::write(tid, &registers)?;
    tracees.thread_mut(tid)?.slot.scratch = None;
    if trapped {
        return trap_before_deferred(tracees, tid, pc_of(&registers));
    }
    release_deferred(tracees, tid)
}

/// Whether the instruction in a slot is one that the processor repeats: each repetition is a step of the user's.
fn is_repeated(space: &Space, slot: SlotId) -> bool {
    let Some(entry) = space.entry(slot) else { return false };
    decode(entry.bytes(), space.mode).is_ok_and(|insn| insn.flow() == Flow::Next && is_passed_whole(&insn))
}

/// One repetition of a repeated instruction is done. Signals that wait interrupt the instruction here, as they would without a
/// breakpoint.
fn between_repetitions(tracees: &mut Tracees, tid: Tid, step: Step) -> Result<Next> {
    let thread = tracees.thread_mut(tid)?;
    thread.run = if thread.slot.deferred.is_empty() { Run::Step(step) } else { Run::Free };
    release_deferred(tracees, tid)
}
