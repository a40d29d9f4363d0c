//! Jumps at sites.

use insn::x86::Reg;
use libc::user_regs_struct;
use trampoline::arm64::Place;
use trampoline::x86::Subject;

use super::{Emulated, cpu};
use crate::memory::{ProcessMemory, ReadOnly};
use crate::{Operand, Result, Tid};

/// The left side of a comparison in a trampoline, which makes none.
pub(in crate::ptrace) fn test_subject(_: Operand, _: u64) -> Option<Subject> {
    None
}

/// The register of a value that trampolines sum up: they cannot.
pub(in crate::ptrace) fn sum_register(_: Operand) -> Option<Reg> {
    None
}

/// Whether threads can have guarded control stacks, which no code but a call's writes.
pub(in crate::ptrace) fn may_have_shadow_stacks() -> bool {
    cpu::control_stacks()
}

/// Whether a thread has counted that is between the beginning and the end of a count: its store-exclusive has succeeded.
pub(in crate::ptrace) fn is_added(registers: &user_regs_struct) -> bool {
    registers.regs[15] as u32 == 0
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
