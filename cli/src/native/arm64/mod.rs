//! Calls and stacks on AArch64.

pub(crate) use insn::arm64::Reg;
use ubp::{Pid, Registers, Session};

/// The number of arguments that are shown.
const COUNT: u32 = 6;

/// The number of bytes that a watchpoint of executed instructions has: those of an instruction.
pub(crate) const EXECUTE_LENGTH: u64 = 4;

/// Whether a thread that accessed watched memory is behind the instruction (`ubp::EventKind::Watched`).
pub(crate) const IS_BEHIND_ACCESS: bool = false;

/// Whether this machine runs programs for an architecture.
pub(crate) fn runs(arch: ubp_symbols::Arch) -> bool {
    arch == ubp_symbols::Arch::Arm64
}

/// The registers that have names on the command line.
pub(crate) const REGISTERS: [Reg; 31] = {
    let mut registers = [Reg::general(0); 31];
    let mut number = 0;
    while number < 31 {
        registers[number as usize] = Reg::general(number);
        number += 1;
    }
    registers
};

/// The register of a name.
pub(crate) fn register(name: &str) -> Option<Reg> {
    REGISTERS.into_iter().find(|register| register.to_string() == name)
}

/// The integer arguments of a function that is at its first instruction, in the registers of AAPCS64.
pub(crate) fn arguments(_: &mut Session, _: Pid, registers: &Registers) -> Vec<u64> {
    (0..COUNT).filter_map(|number| registers.get(Reg::general(number))).collect()
}

/// The return value of a function that has just returned.
pub(crate) fn return_value(registers: &Registers) -> u64 {
    registers.get(Reg::general(0)).unwrap_or(0)
}

/// The architecture of programs of this machine's width.
pub(crate) const ARCH: ubp::Arch = ubp::Arch::Arm64;

/// The registers of integer arguments by their numbers in debug information, in the order of records.
pub(crate) const ARGUMENTS: [u16; COUNT as usize] = [0, 1, 2, 3, 4, 5];
