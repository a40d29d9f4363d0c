//! Everything that an instruction reads and writes, in one structure.

use super::{Flags, Insn, Memory, RegSet};

/// Everything that an instruction reads and writes. Each field is the result of the method of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Effects {
    /// Result of [`Insn::reads`].
    pub reads: RegSet,
    /// Result of [`Insn::writes`].
    pub writes: RegSet,
    /// Result of [`Insn::flags_read`].
    pub flags_read: Flags,
    /// Result of [`Insn::flags_written`].
    pub flags_written: Flags,
    /// Result of [`Insn::memory`].
    pub memory: Option<Memory>,
    /// Result of [`Insn::implicit_memory`].
    pub implicit_memory: [Option<Memory>; 2],
    /// Result of [`Insn::operand_size`].
    pub operand_size: u8,
}

impl Insn {
    /// All effects with one look-up in the tables, which is cheaper than two of the single methods.
    pub fn effects(&self) -> Effects {
        let form = self.form();
        let memory = self.memory_of(&form);
        let implicit_memory = self.implicit_memory_of(&form);
        let [first, second] = &implicit_memory;
        let (reads, writes) = self.registers_by(&form, [memory.as_ref(), first.as_ref(), second.as_ref()]);
        Effects {
            reads,
            writes,
            flags_read: self.flags_read_by(&form),
            flags_written: self.flags_written_by(&form),
            memory,
            implicit_memory,
            operand_size: self.size_of(&form),
        }
    }
}
