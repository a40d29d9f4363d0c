//! How stopped threads leave mirrors and trampolines: nobody sees a thread there.

use libc::user_regs_struct;
use trampoline::Progress;

use super::arch;
use super::jumps::{Inside, Place, Sum};
use super::tracees::Tracees;
use crate::arch::get;
use crate::{Operand, Result, Tid};

/// Where a thread was that left a mirror or a trampoline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// The site of the jump.
    pub(super) site: u64,
    /// The thread's pc in the program.
    pub(super) pc: u64,
    /// The place in the trampoline; `None` in the mirror.
    pub(super) place: Option<Place>,
    /// What the trampoline has done for the instruction there.
    done: Done,
}

/// What a trampoline has done for an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Nothing,
    /// It has counted the arrival.
    Counted,
    /// It has recorded the arrival, or summed it up.
    Recorded,
}

impl Left {
    /// Whether the tracer has to act for the trampoline.
    pub(super) fn is_undone(&self) -> bool {
        self.done == Done::Nothing
    }
}

/// Moves a stopped thread out of a mirror or a trampoline, to where it is in the program. An arrival that was counted there, of an instruction
/// that the thread has not executed, is taken back: the thread arrives once more. One that was recorded stays: the thread passes the site.
pub(super) fn leave_jump(tracees: &mut Tracees, tid: Tid) -> Result<Option<Left>> {
    let left = leave_counted(tracees, tid)?;
    if let Some(left) = &left {
        uncount_left(tracees, tid, left)?;
        tracees.thread_mut(tid)?.passed = (left.pc != left.site).then_some(left.site);
    }
    Ok(left)
}

/// Takes back an arrival of a thread that arrives once more, or notes that the thread passes the site without.
pub(super) fn uncount_left(tracees: &mut Tracees, tid: Tid, left: &Left) -> Result<()> {
    match left.done {
        Done::Nothing => {}
        Done::Counted => {
            let pid = tracees.thread(tid)?.pid;
            tracees.space_of_mut(pid)?.uncount(left.pc);
        }
        Done::Recorded => tracees.thread_mut(tid)?.reported_at = Some(left.pc),
    }
    Ok(())
}

/// [`leave_jump`] without a change of counts.
pub(super) fn leave_counted(tracees: &mut Tracees, tid: Tid) -> Result<Option<Left>> {
    let pid = tracees.thread(tid)?.pid;
    let space = tracees.space_of(pid)?;
    if space.jumps.is_empty() {
        return Ok(None);
    }
    match space.jumps.inside(arch::pc(tid)?) {
        None => Ok(None),
        Some(Inside::Link(site)) => {
            arch::set_pc(tid, site)?;
            Ok(Some(Left { site, pc: site, place: None, done: Done::Nothing }))
        }
        Some(Inside::Trampoline(site, offset)) => {
            let Some(jump) = space.jumps.get(site) else { return Ok(None) };
            let Some(place) = jump.place(offset) else { return Ok(None) };
            let (member, store) = (jump.member(place.pc), jump.store);
            let ring = member.and_then(|member| member.recording).map(|recording| recording.ring);
            let sum = member.and_then(|member| member.sum);
            let before = arch::read(tid)?;
            if !arch::restore_at(tid, &space.memory, &place)? {
                return Ok(None);
            }
            if let Some(sum) = sum {
                let done = settle_sum(tracees, tid, store, &sum, place.progress, arch::is_carry(&before))?;
                return Ok(Some(Left { site, pc: place.pc, place: Some(place), done }));
            }
            let progress = match (place.progress, ring) {
                (Progress::During, None) if !arch::is_added(&before) => Progress::Before,
                (Progress::DuringIfZero, _) if arch::is_zero(&before) => Progress::During,
                (Progress::DuringIfZero, Some((_, shape))) if shape.numbers_first() => Progress::Numbered,
                (Progress::DuringIfZero, _) => Progress::Before,
                (progress, _) => progress,
            };
            let done = match (progress, ring) {
                (Progress::Before, _) => Done::Nothing,
                (_, None) => Done::Counted,
                (Progress::Done, Some(_)) => Done::Recorded,
                (_, Some((ring_at, _))) => {
                    let slot = (progress == Progress::During).then(|| arch::record_slot(&before));
                    tracees.space_of_mut(pid)?.give_up_record(ring_at, slot);
                    Done::Nothing
                }
            };
            Ok(Some(Left { site, pc: place.pc, place: Some(place), done }))
        }
    }
}

/// Completes what a thread adds to a row, by its progress. The thread is where it is in the program.
fn settle_sum(tracees: &Tracees, tid: Tid, store: usize, sum: &Sum, progress: Progress, carry: bool) -> Result<Done> {
    let registers = arch::read(tid)?;
    let value = value_of(&registers, sum.value);
    let row = tracees.space_at(tid)?.row(store, sum);
    let (Some(value), Some(row)) = (value, row) else { return Ok(Done::Nothing) };
    let (lacks_carry, lacks_count, lacks_ends) = match progress {
        Progress::Summing => (carry, true, true),
        Progress::Summed => (false, true, true),
        Progress::Counted => (false, false, true),
        Progress::Done => (false, false, false),
        _ => return Ok(Done::Nothing),
    };
    if lacks_carry {
        row.carry();
    }
    if lacks_count {
        row.count(value);
    }
    if lacks_ends {
        row.tell(value);
    }
    Ok(Done::Recorded)
}

fn value_of(registers: &user_regs_struct, value: Operand) -> Option<u64> {
    match value {
        Operand::Register(register) => get(registers, register),
        _ => None,
    }
}
