//! All that an instruction reads and writes, at once.

use super::{Insn, Memory, Nzcv, RegSet};

/// What an instruction reads and writes: the answers of the accessors of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Effects {
    /// [`Insn::reads`].
    pub reads: RegSet,
    /// [`Insn::writes`].
    pub writes: RegSet,
    /// [`Insn::overwrites`].
    pub overwrites: RegSet,
    /// [`Insn::flags_read`].
    pub flags_read: Nzcv,
    /// [`Insn::flags_written`].
    pub flags_written: Nzcv,
    /// [`Insn::memories`].
    pub memories: [Option<Memory>; 2],
}

impl Insn {
    /// All effects with one look into the cold tables.
    pub fn effects(&self) -> Effects {
        let meaning = self.meaning();
        let memories = self.memories_by(meaning);
        let (flags_read, flags_written) = self.flags_by(meaning);
        let (reads, writes) = self.registers_by(meaning, &memories);
        let overwrites = self.overwritten_by(meaning, writes);
        Effects { reads, writes, overwrites, flags_read, flags_written, memories }
    }
    /// Registers read, implicit ones included. `NZCV` is among them where a flag is, `PC` where the address of the instruction counts.
    pub fn reads(&self) -> RegSet {
        self.effects().reads
    }
    /// Registers written, implicit ones included. `PC` is among them where control may go elsewhere.
    pub fn writes(&self) -> RegSet {
        self.effects().writes
    }
    /// Registers of which every bit, once the instruction is complete, depends on nothing but what it reads ([`Insn::reads`]) and on memory: a
    /// value that was there before is of no use any more, unless it is read.
    ///
    /// A subset of [`Insn::writes`]. What is written and not a member keeps some of its bits, as `FPSR` and `ZA` do, or is no register of the
    /// program's. `NZCV` is never a member: each flag of [`Insn::flags_written`] is set in all cases.
    pub fn overwrites(&self) -> RegSet {
        self.effects().overwrites
    }
    /// Condition flags read.
    pub fn flags_read(&self) -> Nzcv {
        self.flags_by(self.meaning()).0
    }
    /// Condition flags written.
    pub fn flags_written(&self) -> Nzcv {
        self.flags_by(self.meaning()).1
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
        self.memories_by(self.meaning())
    }
}
