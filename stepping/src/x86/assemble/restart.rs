//! Where the kernel restarts a system call.

use insn::x86::Insn;

use super::draft::Draft;
use crate::x86::class::wrap;
use crate::x86::{Place, Progress};

/// Marks the point to which the kernel returns to restart a system call: two bytes before its end, even with prefixes
/// (arch/x86/kernel/signal.c, `handle_signal`).
pub(super) fn restart(draft: &mut Draft, insn: &Insn, pc: u64) {
    let prefixes = insn.len().saturating_sub(2);
    if prefixes > 0 {
        let pc = wrap(insn, pc.wrapping_add(prefixes as u64));
        draft.mark_at(prefixes as u8, Place { pc, progress: Progress::Before, register: None });
    }
}
