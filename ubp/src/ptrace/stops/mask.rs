//! The program's signal mask at a trap that is the tracer's own.

use super::super::breakpoints::trap_handler::note_reset;
use super::super::sys;
use super::super::tracees::Tracees;
use crate::{Result, Tid};

/// Blocks `SIGTRAP` again where the program had blocked it.
pub(super) fn restore_mask(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    let mask = sys::signal_mask(tid)?;
    if sys::had_blocked_trap(mask) {
        note_reset(tracees, tid)?;
        sys::set_signal_mask(tid, mask | sys::TRAP_BIT)?;
    }
    Ok(())
}
