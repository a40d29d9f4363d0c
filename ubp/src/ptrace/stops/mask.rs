//! The program's signal mask at a trap that is the tracer's own.

use super::super::breakpoints::trap_handler::note_reset;
use super::super::sys;
use super::super::tracees::Tracees;
use crate::{Result, Tid};

/// Blocks `SIGTRAP` again where the program had blocked it: the kernel unblocks a signal that it forces. That was so where all
/// other signals are blocked; no program blocks `SIGTRAP` alone.
pub(super) fn restore_mask(tracees: &mut Tracees, tid: Tid) -> Result<()> {
    const NEVER: u64 = 1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1);
    const TRAP: u64 = 1 << (libc::SIGTRAP - 1);
    const STANDARD: u64 = (1 << 31) - 1;
    let mask = sys::signal_mask(tid)?;
    if mask & STANDARD | NEVER | TRAP == STANDARD && mask & TRAP == 0 {
        note_reset(tracees, tid)?;
        sys::set_signal_mask(tid, mask | TRAP)?;
    }
    Ok(())
}
