//! AArch64.

mod stack;

use insn::arm64::Reg;
use ubp::{Pid, Registers, Session};

pub(crate) use self::stack::Stack;
use crate::symbols;

/// Arguments that are shown.
const COUNT: u32 = 6;

/// Whether programs for it run here.
pub(crate) fn runs(arch: symbols::Arch) -> bool {
    arch == symbols::Arch::Arm64
}

/// The integer arguments of a function at its first instruction, in the registers of AAPCS64.
pub(crate) fn arguments(_: &mut Session, _: Pid, registers: &Registers) -> Vec<u64> {
    (0..COUNT).filter_map(|number| registers.get(Reg::general(number))).collect()
}

/// Where a function at its first instruction returns to.
pub(crate) fn return_address(_: &mut Session, _: Pid, registers: &Registers) -> Option<u64> {
    registers.get(Reg::X30)
}

/// What a function that has just returned answers.
pub(crate) fn answer(registers: &Registers) -> u64 {
    registers.get(Reg::general(0)).unwrap_or(0)
}
