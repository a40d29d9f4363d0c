//! Calls and stacks on AArch64.

use insn::arm64::Reg;
use ubp::{Pid, Registers, Session};

/// The number of arguments that are shown.
const COUNT: u32 = 6;

/// Whether this machine runs programs for an architecture.
pub(crate) fn runs(arch: ubp_symbols::Arch) -> bool {
    arch == ubp_symbols::Arch::Arm64
}

/// The integer arguments of a function that is at its first instruction, in the registers of AAPCS64.
pub(crate) fn arguments(_: &mut Session, _: Pid, registers: &Registers) -> Vec<u64> {
    (0..COUNT).filter_map(|number| registers.get(Reg::general(number))).collect()
}

/// The return value of a function that has just returned.
pub(crate) fn return_value(registers: &Registers) -> u64 {
    registers.get(Reg::general(0)).unwrap_or(0)
}
