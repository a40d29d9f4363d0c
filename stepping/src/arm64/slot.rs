use insn::arm64::{Insn, Reg};

use super::{Refusal, assemble};

/// The code of one slot of A64, for one address.
pub type Code = crate::Code<Reg>;
/// What a slot address means in terms of the original code of A64.
pub type Place = crate::Place<Reg>;
/// A general register of A64 to load before a thread enters the slot, and to put back when it has left.
pub type Scratch = crate::Scratch<Reg>;

/// What slots are filled with: `brk #0x7562`. The kernel takes immediates 4, 5, 6 and those from 0x100 on up to 0x9ff for itself
/// (arch/arm64/include/asm/brk-imm.h), compilers 0, 1, 0x3e8, 0x55xx, 0xc47x and 0xf000.
pub const BREAKPOINT: u32 = 0xd42e_ac40;

/// An instruction that runs as a copy, at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub(super) insn: Insn,
    pub(super) pc: u64,
}

impl Slot {
    /// The code for a slot at the address `at`, a multiple of 4.
    ///
    /// Within ±128 MiB of the site a branch leads back; elsewhere the slot ends with a trap.
    ///
    /// # Errors
    /// [`Refusal::ExclusiveOutOfReach`]; none where the slot lies within reach.
    pub fn assemble(&self, at: u64) -> Result<Code, Refusal> {
        assemble::assemble(&self.insn, self.pc, at, false)
    }

    /// The same with no scratch register for a literal that a general register is loaded from. Where such a load faults, out of reach
    /// of the literal (1 MiB), that register has the literal's address.
    ///
    /// # Errors
    /// Those of [`Slot::assemble`].
    pub fn assemble_near(&self, at: u64) -> Result<Code, Refusal> {
        assemble::assemble(&self.insn, self.pc, at, true)
    }
}
