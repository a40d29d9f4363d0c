//! The registers of a thread, as emulation needs them.

use insn::arm64::Reg;

/// The registers of the thread at the site.
///
/// Asked for: the general registers, [`Reg::PC`], [`Reg::NZCV`] (flags in bits 31 to 28), and [`Reg::GCSPR`] where
/// [`Registers::control_stack`] says so; never [`Reg::XZR`].
pub trait Registers {
    /// The value of `reg`, zero-extended.
    fn get(&self, reg: Reg) -> u64;
    /// Sets the whole of `reg`.
    fn set(&mut self, reg: Reg, value: u64);
    /// BTYPE in PSTATE, 0 to 3: which kind of indirect branch led to the site (Arm ARM D8.4.8).
    fn branch_type(&self) -> u8;
    /// Sets BTYPE, to 0 to 3.
    fn set_branch_type(&mut self, branch_type: u8);
    /// Whether the site lies in a guarded page (`PROT_BTI`), and its slot too.
    fn guarded(&self) -> bool {
        false
    }
    /// Whether the thread runs with a guarded control stack.
    fn control_stack(&self) -> bool {
        false
    }
    /// What the processor makes the pc where a branch goes to `address`. Linux has the top byte ignored in user addresses
    /// (Arm ARM, `AArch64.BranchAddr`).
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
