//! How stopped threads leave mirrors and trampolines: nobody sees a thread there.

use trampoline::Progress;
use trampoline::x86::Place;

use super::arch;
use super::jumps::Inside;
use super::tracees::Tracees;
use crate::{Result, Tid};

/// Where a thread was that left a mirror or a trampoline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// The site of the jump.
    pub(super) site: u64,
    /// The thread's pc in the program.
    pub(super) pc: u64,
    /// The place in the trampoline; `None` in the mirror.
    pub(super) place: Option<Place>,
}

/// Moves a stopped thread out of a mirror or a trampoline, to where it is in the program. An arrival that was counted there, of an instruction
/// that the thread has not executed, is taken back: the thread arrives once more.
pub(super) fn leave_jump(tracees: &mut Tracees, tid: Tid) -> Result<Option<Left>> {
    let left = leave_counted(tracees, tid)?;
    left.iter().try_for_each(|left| uncount_left(tracees, tid, left))?;
    Ok(left)
}

/// Takes back an arrival of a thread that arrives once more.
pub(super) fn uncount_left(tracees: &mut Tracees, tid: Tid, left: &Left) -> Result<()> {
    if left.place.is_some_and(|place| place.progress != Progress::Before) {
        let pid = tracees.thread(tid)?.pid;
        tracees.space_of_mut(pid)?.uncount(left.pc);
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
        Some(Inside::Mirror(site)) => {
            arch::set_pc(tid, site)?;
            Ok(Some(Left { site, pc: site, place: None }))
        }
        Some(Inside::Trampoline(site, offset)) => {
            let Some(place) = space.jumps.get(site).and_then(|jump| jump.place(offset)) else { return Ok(None) };
            if !arch::restore_at(tid, &space.memory, &place)? {
                return Ok(None);
            }
            Ok(Some(Left { site, pc: place.pc, place: Some(place) }))
        }
    }
}
