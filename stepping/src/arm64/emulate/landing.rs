//! Branch target identification (Arm ARM D8.4.8).

use insn::arm64::{Insn, LandingPad, Reg};

/// BTYPE after `blr`.
pub(super) const OF_CALL: u8 = 2;
/// BTYPE after a jump that may also land where calls may.
const OF_FREE_JUMP: u8 = 1;
/// BTYPE after any other jump.
const OF_JUMP: u8 = 3;

/// BTYPE after `br` (Arm ARM C6.2, BR).
pub(super) fn of_jump(register: Reg, guarded: bool) -> u8 {
    if guarded && !matches!(register.as_general(), Some(16 | 17)) { OF_JUMP } else { OF_FREE_JUMP }
}

/// Whether a branch that sets BTYPE to `branch_type` may land on the instruction (`BTypeCompatible_BTI`).
pub(super) fn allows(insn: &Insn, branch_type: u8) -> bool {
    match insn.landing_pad() {
        _ if branch_type == 0 => true,
        Some(LandingPad::Both) => true,
        Some(LandingPad::Call | LandingPad::PacSp) => branch_type != OF_JUMP,
        Some(LandingPad::Jump) => branch_type != OF_CALL,
        Some(LandingPad::None) | None => false,
    }
}
