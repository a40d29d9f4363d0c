//! The program's signal mask at a trap that is the tracer's own.

use super::super::breakpoints::trap_handler::note_reset;
use super::super::space::page::Handled;
use super::super::sys;
use super::super::tracees::Tracees;
use crate::{Result, Tid};

/// Blocks `SIGTRAP` again where the program had blocked it.
pub(super) fn restore_mask(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    restore_mask_of(tracees, tid, Handled::Trap)
}

/// Blocks a signal again that an instruction has raised, where the program had blocked it.
pub(super) fn restore_mask_of(tracees: &mut Tracees, tid: Tid, signal: Handled) -> Result<()> {
    let mask = sys::signal_mask(tid)?;
    if sys::had_blocked(mask, signal.signal()) {
        note_reset(tracees, tid, signal)?;
        sys::set_signal_mask(tid, mask | signal.signal().bit())?;
    }
    Ok(())
}
