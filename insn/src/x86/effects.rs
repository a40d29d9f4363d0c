//! All that an instruction reads and writes, at once.

use super::overwrites::Overwritten;
use super::{Flags, Insn, Memory, RegSet};

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
    /// [`Insn::overwrites_low`].
    pub overwrites_low: RegSet,
    /// [`Insn::flags_read`].
    pub flags_read: Flags,
    /// [`Insn::flags_written`].
    pub flags_written: Flags,
    /// [`Insn::flags_overwritten`].
    pub flags_overwritten: Flags,
    /// [`Insn::flags_undefined`].
    pub flags_undefined: Flags,
    /// [`Insn::memory`].
    pub memory: Option<Memory>,
    /// [`Insn::implicit_memory`].
    pub implicit_memory: [Option<Memory>; 2],
    /// [`Insn::operand_size`].
    pub operand_size: u8,
}

impl Insn {
    /// All effects with one look into the cold tables; cheaper than two of the accessors.
    pub fn effects(&self) -> Effects {
        let form = self.form();
        let memory = self.memory_of(&form);
        let implicit_memory = self.implicit_memory_of(&form);
        let [first, second] = &implicit_memory;
        let (reads, writes) = self.registers_by(&form, [memory.as_ref(), first.as_ref(), second.as_ref()]);
        let Overwritten { whole, low } = self.overwritten_by(&form);
        Effects {
            reads,
            writes,
            overwrites: whole,
            overwrites_low: low,
            flags_read: self.flags_read_by(&form),
            flags_written: self.flags_written_by(&form),
            flags_overwritten: self.flags_overwritten_by(&form),
            flags_undefined: self.flags_undefined_by(&form),
            memory,
            implicit_memory,
            operand_size: self.size_of(&form),
        }
    }
}
