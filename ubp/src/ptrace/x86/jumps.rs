//! Jumps at sites.

use insn::x86::{Mode, Reg};
use libc::user_regs_struct;
use trampoline::x86::{Memory, Place, Subject};

use super::Emulated;
use crate::cpu;
use crate::memory::{ProcessMemory, ReadOnly};
use crate::{Arch, Operand, Result, Tid};

/// How the processor reads code of `mode` behind jumps; `None` if programs of the architecture can have none.
pub(in crate::ptrace) fn jump_mode(arch: Arch, mode: Mode) -> Option<Mode> {
    (arch == Arch::X86_64).then_some(mode)
}

/// The left side of a comparison in a trampoline. Memory has to lie in the window at `window`. `None`: no trampoline knows that.
pub(in crate::ptrace) fn test_subject(left: Operand, window: u64) -> Option<Subject> {
    Some(match left {
        Operand::Register(register) | Operand::Part { register, size: 8 } => Subject::Register(register),
        Operand::Part { register, size } => Subject::Part { register, size },
        Operand::Memory { base, offset, size } => Subject::Memory(Memory { base, offset, size, window }),
        Operand::Arrivals => return None,
    })
}

/// The register of a value that trampolines sum up. `None`: they cannot.
pub(in crate::ptrace) fn sum_register(value: Operand) -> Option<Reg> {
    match value {
        Operand::Register(register) => Some(register).filter(|reg| reg.as_gpr().is_some_and(|number| number < 16)),
        _ => None,
    }
}

/// Whether threads can have shadow stacks, which no code but a call's writes.
pub(in crate::ptrace) fn may_have_shadow_stacks() -> bool {
    cpu::shadow_stacks()
}

/// Whether a thread between the beginning and the end of a count has counted: the count is one instruction.
pub(in crate::ptrace) fn is_added(_: &user_regs_struct) -> bool {
    true
}

/// Gives a stopped thread in a trampoline the registers that it has in the program. Returns whether the stack could be read.
pub(in crate::ptrace) fn restore_at(tid: Tid, memory: &ProcessMemory, place: &Place) -> Result<bool> {
    let mut registers = Emulated::new(tid, super::read(tid)?, false);
    if place.restore(&mut registers, &mut ReadOnly(memory)).is_err() {
        return Ok(false);
    }
    super::write(tid, registers.raw())?;
    Ok(true)
}
