//! Single-step traps in slots that are not the program's.

use super::super::tracees::Tracees;
use crate::{Result, Tid};

/// Whether a single-step trap at `pc`, in a slot, would not have happened without the breakpoint: an instruction like `mov ss`
/// holds off the trap behind it.
pub(super) fn is_trap_held_off(tracees: &mut Tracees, tid: Tid, pc: u64) -> Result<bool> {
    let thread = tracees.thread_mut(tid)?;
    let (pid, before) = (thread.pid, thread.slot.trap_held_off.take());
    let space = tracees.space_of(pid)?;
    let Some((slot, offset)) = space.slot_at(pc) else { return Ok(false) };
    let (Some(passing), Some(entry)) = (space.passing(slot), space.entry(slot)) else { return Ok(false) };
    let code = passing.code();
    if !code.holds_off_trap(offset) || code.holds_off_once() && before == Some(entry.site) {
        return Ok(false);
    }
    let held_off = code.holds_off_once().then(|| code.original(offset)).flatten().map(|place| place.pc);
    tracees.thread_mut(tid)?.slot.trap_held_off = held_off;
    Ok(true)
}
