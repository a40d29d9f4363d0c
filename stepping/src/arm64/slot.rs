use insn::arm64::Insn;

use super::{Code, Refusal, assemble};

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
