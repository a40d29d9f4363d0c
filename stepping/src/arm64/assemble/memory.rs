//! Memory copy and set (FEAT_MOPS): three consecutive instructions.
//!
//! If a thread migrates to a processor with another implementation, it gets an exception at the second or third instruction, and the
//! kernel returns to the first (arch/arm64/include/asm/traps.h). So the slot also contains copies of the instructions before.

use insn::arm64::Insn;

use super::draft::Draft;
use crate::arm64::Progress;
use crate::arm64::class::{field, next};

/// `b` over one instruction.
const OVER_ONE: u32 = 0x1400_0002;
/// `b` over two instructions.
const OVER_TWO: u32 = 0x1400_0003;

/// Code for the second instruction.
pub(super) fn main(draft: &mut Draft, insn: &Insn, pc: u64) {
    draft.mark(pc, Progress::Before);
    draft.push(OVER_ONE);
    draft.mark(pc.wrapping_sub(4), Progress::Before);
    draft.push(prologue_of(insn.word()));
    draft.mark(pc, Progress::Before);
    draft.push(insn.word());
    draft.go(next(pc));
}

/// Code for the third instruction.
pub(super) fn epilogue(draft: &mut Draft, insn: &Insn, pc: u64) {
    draft.mark(pc, Progress::Before);
    draft.push(OVER_TWO);
    draft.mark(pc.wrapping_sub(8), Progress::Before);
    draft.push(prologue_of(insn.word()));
    draft.mark(pc.wrapping_sub(4), Progress::Before);
    draft.push(main_of(insn.word()));
    draft.mark(pc, Progress::Before);
    draft.push(insn.word());
    draft.go(next(pc));
}

/// Position of the two bits that tell which of the three instructions a word is: 14 in `set`, 22 in `cpy`.
fn stage(word: u32) -> u32 {
    if field(word, 22, 2) == 3 { 14 } else { 22 }
}

fn prologue_of(word: u32) -> u32 {
    word & !3_u32.wrapping_shl(stage(word))
}

fn main_of(word: u32) -> u32 {
    prologue_of(word) | 1_u32.wrapping_shl(stage(word))
}
