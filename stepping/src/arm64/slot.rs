use insn::arm64::Insn;

use super::{Code, Refusal, assemble};

/// An instruction that runs as a copy, with its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub(super) insn: Insn,
    pub(super) pc: u64,
}

impl Slot {
    /// The code for a slot at the address `at`, a multiple of 4.
    ///
    /// Within ±128 MiB of the site a branch leads back; otherwise the slot ends with a trap.
    ///
    /// # Errors
    /// [`Refusal::ExclusiveOutOfReach`], only if the slot is out of reach.
    pub fn assemble(&self, at: u64) -> Result<Code, Refusal> {
        assemble::assemble(&self.insn, self.pc, at, false)
    }

    /// The code for a slot at the address `at`, a multiple of 4, without a scratch register for loads of a literal to a general register. If
    /// such a load faults and the literal is out of reach (1 MiB), the destination register holds the literal's address then.
    ///
    /// # Errors
    /// The errors of [`Slot::assemble`].
    pub fn assemble_near(&self, at: u64) -> Result<Code, Refusal> {
        assemble::assemble(&self.insn, self.pc, at, true)
    }
}
