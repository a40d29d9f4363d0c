//! Everything that an instruction reads and writes, in one structure.

use super::{Insn, Memory, Nzcv, RegSet};

/// Everything that an instruction reads and writes. Each field is the result of the method of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Effects {
    /// Result of [`Insn::reads`].
    pub reads: RegSet,
    /// Result of [`Insn::writes`].
    pub writes: RegSet,
    /// Result of [`Insn::flags_read`].
    pub flags_read: Nzcv,
    /// Result of [`Insn::flags_written`].
    pub flags_written: Nzcv,
    /// Result of [`Insn::memories`].
    pub memories: [Option<Memory>; 2],
}

impl Insn {
    /// All effects with one look-up in the tables.
    pub fn effects(&self) -> Effects {
        let meaning = self.meaning();
        let memories = self.memories_by(meaning);
        let (flags_read, flags_written) = self.flags_by(meaning);
        let (reads, writes) = self.registers_by(meaning, &memories);
        Effects { reads, writes, flags_read, flags_written, memories }
    }
    /// The registers that the instruction reads, including implicit ones; with [`Reg::NZCV`](super::Reg::NZCV) if it reads a flag, and [`Reg::PC`](super::Reg::PC) if its
    /// address matters.
    pub fn reads(&self) -> RegSet {
        self.effects().reads
    }
    /// The registers that the instruction may write, including implicit ones; with [`Reg::PC`](super::Reg::PC) if control may leave the next instruction.
    pub fn writes(&self) -> RegSet {
        self.effects().writes
    }
    /// The condition flags that the instruction reads.
    pub fn flags_read(&self) -> Nzcv {
        self.flags_by(self.meaning()).0
    }
    /// The condition flags that the instruction may write.
    pub fn flags_written(&self) -> Nzcv {
        self.flags_by(self.meaning()).1
    }
    /// The memory operand; for a memory copy its destination.
    pub fn memory(&self) -> Option<Memory> {
        let [memory, _] = self.memories();
        memory
    }
    /// All memory operands; a memory copy has two, destination and source.
    ///
    /// Accesses of calls and returns to the guarded control stack are not included, because they occur only if the process has enabled that
    /// stack (Arm ARM D11.2). Accesses of other instructions to it are.
    pub fn memories(&self) -> [Option<Memory>; 2] {
        self.memories_by(self.meaning())
    }
}
