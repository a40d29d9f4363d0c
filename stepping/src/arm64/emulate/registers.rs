//! The registers of a thread, as emulation needs them.

use insn::arm64::Reg;

/// The registers of the thread at the site, supplied by the caller.
///
/// Emulation asks for the general registers, [`Reg::PC`], [`Reg::NZCV`] (flags in bits 31 to 28), and [`Reg::GCSPR`] if
/// [`Registers::control_stack`] returns true; never for [`Reg::XZR`].
pub trait Registers {
    /// The value of `reg`, zero-extended to 64 bits.
    fn get(&self, reg: Reg) -> u64;
    /// Sets all bits of `reg`.
    fn set(&mut self, reg: Reg, value: u64);
    /// BTYPE in PSTATE, 0 to 3: the kind of indirect branch that led to the site (Arm ARM D8.4.8).
    fn branch_type(&self) -> u8;
    /// Sets BTYPE in PSTATE, 0 to 3.
    fn set_branch_type(&mut self, branch_type: u8);
    /// Whether site and slot are in guarded pages (`PROT_BTI`).
    fn guarded(&self) -> bool {
        false
    }
    /// Whether the thread runs with a guarded control stack.
    fn control_stack(&self) -> bool {
        false
    }
    /// The pc after a branch to `address`. On Linux the processor ignores the top byte of user addresses (Arm ARM,
    /// `AArch64.BranchAddr`).
    fn untagged(&self, address: u64) -> u64 {
        ((address << 8) as i64 >> 8) as u64
    }
}

/// The value of a register, 0 of xzr.
pub(super) fn read(registers: &impl Registers, register: Reg) -> u64 {
    if register == Reg::XZR { 0 } else { registers.get(register) }
}

/// Sets a register, unless it is xzr.
pub(super) fn write(registers: &mut impl Registers, register: Reg, value: u64) {
    if register != Reg::XZR {
        registers.set(register, value);
    }
}
