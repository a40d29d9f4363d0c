use insn::x86::Insn;

use super::{Code, Exit, Refusal, assemble};

/// An instruction that runs as a copy, with its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub(super) insn: Insn,
    pub(super) pc: u64,
}

impl Slot {
    /// The code for a slot at the address `at`.
    ///
    /// If the slot is within ±2 GiB of the site and of the target of a rip-relative operand, the displacement is rewritten and a near jump
    /// leads back. Otherwise the code uses a scratch register or an absolute jump.
    ///
    /// # Errors
    /// [`Refusal::NoScratchRegister`], only if the slot is out of reach.
    pub fn assemble(&self, at: u64) -> Result<Code, Refusal> {
        assemble::assemble(&self.insn, self.pc, at, Some(assemble::spare))
    }

    /// How a thread leaves the slot that [`Slot::assemble`] makes: the same answer, which for most instructions needs no code to be written.
    ///
    /// # Errors
    /// Those of [`Slot::assemble`].
    pub fn exit(&self, at: u64) -> Result<Exit, Refusal> {
        if assemble::is_plain(&self.insn, self.pc, at) {
            return Ok(Exit::Jump);
        }
        self.assemble(at).map(|code| code.exit)
    }

    /// The code for a slot at the address `at` without scratch registers. It links less code, because a scratch register needs the sets of
    /// registers that an instruction reads and writes. For a near branch within reach it does everything that the branch does, except on
    /// shadow stacks.
    ///
    /// # Errors
    /// [`Refusal::NoScratchRegister`] if a rip-relative operand is out of reach.
    pub fn assemble_near(&self, at: u64) -> Result<Code, Refusal> {
        assemble::assemble(&self.insn, self.pc, at, None)
    }
}
