use insn::x86::Insn;

use super::{Code, Refusal, assemble};

/// An instruction that runs as a copy, at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub(super) insn: Insn,
    pub(super) pc: u64,
}

impl Slot {
    /// The code for a slot at the address `at`.
    ///
    /// Within ±2 GiB of the site and of what a rip-relative operand names the displacement is rewritten and a jump leads back;
    /// elsewhere a scratch register or an absolute jump serves.
    ///
    /// # Errors
    /// [`Refusal::NoScratchRegister`]; none where the slot lies within reach.
    pub fn assemble(&self, at: u64) -> Result<Code, Refusal> {
        assemble::assemble(&self.insn, self.pc, at, Some(assemble::spare))
    }

    /// The same without scratch registers, for which all that instructions read and write has to be known: less is linked. Of a near branch
    /// that is within reach it is code that does all the branch does, but for shadow stacks.
    ///
    /// # Errors
    /// [`Refusal::NoScratchRegister`] where a rip-relative operand is out of reach.
    pub fn assemble_near(&self, at: u64) -> Result<Code, Refusal> {
        assemble::assemble(&self.insn, self.pc, at, None)
    }
}
