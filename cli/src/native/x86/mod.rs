//! Calls and stacks on x86-64 and i386.

pub(crate) use insn::x86::Reg;
use ubp::{Pid, Registers, Session};

/// The number of arguments that are shown.
const COUNT: usize = 6;

/// The number of bytes that a watchpoint of executed instructions has (SDM vol. 3B 18.2.4).
pub(crate) const EXECUTE_LENGTH: u64 = 1;

/// Whether a thread that accessed watched memory is behind the instruction (`ubp::EventKind::Watched`).
pub(crate) const IS_BEHIND_ACCESS: bool = true;

/// Whether this machine runs programs for an architecture.
pub(crate) fn runs(arch: ubp_symbols::Arch) -> bool {
    matches!(arch, ubp_symbols::Arch::X86_64 | ubp_symbols::Arch::I386)
}

/// The registers that have names on the command line.
pub(crate) const REGISTERS: [Reg; 18] = {
    let mut registers = [Reg::RIP; 18];
    let mut number = 0;
    while number < 16 {
        registers[number as usize] = Reg::gpr(number);
        number += 1;
    }
    registers[17] = Reg::FLAGS;
    registers
};

/// The register of a name.
pub(crate) fn register(name: &str) -> Option<Reg> {
    REGISTERS.into_iter().find(|register| register.to_string() == name)
}

/// The integer arguments of a function that is at its first instruction: in registers by the System V ABI for x86-64, on the stack by the
/// System V ABI for i386.
pub(crate) fn arguments(session: &mut Session, pid: Pid, registers: &Registers) -> Vec<u64> {
    if registers.arch() == ubp::Arch::I386 {
        let mut bytes = [0; 4 * COUNT];
        let read = session.read_memory(pid, registers.sp() + 4, &mut bytes).unwrap_or(0);
        let words = bytes.get(..read).unwrap_or_default().chunks_exact(4);
        return words.map(|word| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))).collect();
    }
    let order: [Reg; COUNT] = [Reg::RDI, Reg::RSI, Reg::RDX, Reg::RCX, Reg::gpr(8), Reg::gpr(9)];
    order.into_iter().filter_map(|register| registers.get(register)).collect()
}

/// The return value of a function that has just returned.
pub(crate) fn return_value(registers: &Registers) -> u64 {
    let value = registers.get(Reg::RAX).unwrap_or(0);
    if registers.arch() == ubp::Arch::I386 { value & 0xffff_ffff } else { value }
}

/// The architecture of programs of this machine's width.
pub(crate) const ARCH: ubp::Arch = ubp::Arch::X86_64;

/// The registers of integer arguments by their numbers in debug information, in the order of records.
pub(crate) const ARGUMENTS: [u16; COUNT] = [5, 4, 1, 2, 8, 9];
