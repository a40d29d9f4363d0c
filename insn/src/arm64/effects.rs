//! All that an instruction reads and writes, at once.

use super::operands::Used;
use super::{Insn, Memory, Nzcv, RegSet};

/// What an instruction reads and writes: the answers of the accessors of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Effects {
    /// Result of [`Insn::reads`].
    pub reads: RegSet,
    /// Result of [`Insn::writes`].
    pub writes: RegSet,
    /// Result of [`Insn::overwrites`].
    pub overwrites: RegSet,
    /// Result of [`Insn::flags_read`].
    pub flags_read: Nzcv,
    /// Result of [`Insn::flags_written`].
    pub flags_written: Nzcv,
    /// Result of [`Insn::memories`].
    pub memories: [Option<Memory>; 2],
}

impl Insn {
    /// All effects with one look into the tables.
    #[inline(always)]
    pub fn effects(&self) -> Effects {
        let record = self.record();
        let (flags_read, flags_written) = record.flags();
        let Used { reads, writes, overwrites } = self.registers_by(record);
        Effects { reads, writes, overwrites, flags_read, flags_written, memories: self.memories_by(record) }
    }
    /// The registers that the instruction reads, including implicit ones; with [`Reg::NZCV`](super::Reg::NZCV) if it reads a flag, and
    /// [`Reg::PC`](super::Reg::PC) if its address matters.
    pub fn reads(&self) -> RegSet {
        self.registers_by(self.record()).reads
    }
    /// Registers written, implicit ones included. `PC` is among them where control may go elsewhere.
    pub fn writes(&self) -> RegSet {
        self.registers_by(self.record()).writes
    }
    /// The registers that the instruction overwrites in whole: after it, all their bits depend only on memory and on what the instruction
    /// reads ([`Insn::reads`]). Unless the instruction also reads such a register, its old value is dead.
    ///
    /// The set is a subset of [`Insn::writes`]. `FPSR` and `ZA` are not in it, because an instruction keeps some of their bits. `NZCV` is never
    /// a member: the instruction sets each flag of [`Insn::flags_written`] in all cases.
    pub fn overwrites(&self) -> RegSet {
        self.registers_by(self.record()).overwrites
    }
    /// The condition flags that the instruction reads.
    pub fn flags_read(&self) -> Nzcv {
        self.record().flags().0
    }
    /// Condition flags written.
    pub fn flags_written(&self) -> Nzcv {
        self.record().flags().1
    }
    /// The memory operand; of a memory copy, its destination.
    pub fn memory(&self) -> Option<Memory> {
        let [memory, _] = self.memories();
        memory
    }
    /// All memory operands: two of a memory copy, destination and source.
    ///
    /// Instructions of the guarded control stack tell their access to it. Calls and returns do not: they push and pop an entry only where
    /// the process has switched that stack on (Arm ARM D11.2, `GCSPR_EL0` is neither read nor written elsewhere).
    pub fn memories(&self) -> [Option<Memory>; 2] {
        self.memories_by(self.record())
    }
}
