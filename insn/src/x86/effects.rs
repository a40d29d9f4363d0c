//! All that an instruction reads and writes, at once.

use super::{Flags, Insn, Memory, Mode, Reg, RegSet};

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
    /// Result of [`Insn::overwrites_low`].
    pub overwrites_low: RegSet,
    /// Result of [`Insn::flags_read`].
    pub flags_read: Flags,
    /// Result of [`Insn::flags_written`].
    pub flags_written: Flags,
    /// Result of [`Insn::flags_overwritten`].
    pub flags_overwritten: Flags,
    /// Result of [`Insn::flags_undefined`].
    pub flags_undefined: Flags,
    /// Result of [`Insn::memory`].
    pub memory: Option<Memory>,
    /// Result of [`Insn::implicit_memory`].
    pub implicit_memory: [Option<Memory>; 2],
    /// Result of [`Insn::operand_size`].
    pub operand_size: u8,
}

/// The effects of a rare instruction, from its bytes alone: if the caller kept all fields in registers, every instruction would pay for it.
#[cold]
#[inline(never)]
fn general(bytes: u128, mode: Mode) -> Effects {
    Insn::again(bytes, mode).map_or(Effects::NONE, |insn| insn.general_effects())
}

impl Effects {
    const NONE: Effects = Effects {
        reads: RegSet::EMPTY,
        writes: RegSet::EMPTY,
        overwrites: RegSet::EMPTY,
        overwrites_low: RegSet::EMPTY,
        flags_read: Flags::EMPTY,
        flags_written: Flags::EMPTY,
        flags_overwritten: Flags::EMPTY,
        flags_undefined: Flags::EMPTY,
        memory: None,
        implicit_memory: [None; 2],
        operand_size: 0,
    };
}

impl Insn {
    /// All effects with one look into the cold tables; cheaper than two of the accessors.
    #[inline(always)]
    pub fn effects(&self) -> Effects {
        match self.record() {
            Some(record) => self.common_effects(record),
            None => general(u128::from_le_bytes(self.bytes), self.mode),
        }
    }
    /// The effects of any instruction.
    #[inline(never)]
    pub(super) fn general_effects(&self) -> Effects {
        let form = self.form();
        let operand_size = self.size_of(&form);
        let memory = self.memory_of(&form, operand_size);
        let implicit_memory = self.implicit_memory_of(&form, operand_size);
        let [first, second] = &implicit_memory;
        let registers = self.registers_by(&form, operand_size, [memory.as_ref(), first.as_ref(), second.as_ref()]);
        let flags = self.flags_by(&form, operand_size);
        let with = |set: RegSet, flags: Flags| if flags.is_empty() { set } else { set.with(Reg::FLAGS) };
        Effects {
            reads: with(registers.reads, flags.read),
            writes: with(registers.writes, flags.written),
            overwrites: registers.overwrites,
            overwrites_low: registers.overwrites_low,
            flags_read: flags.read,
            flags_written: flags.written,
            flags_overwritten: flags.overwritten,
            flags_undefined: flags.undefined,
            memory,
            implicit_memory,
            operand_size,
        }
    }
}
