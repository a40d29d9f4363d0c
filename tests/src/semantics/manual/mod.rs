//! What instructions do that no processor at hand has, by the operation sections of the manuals: a model that knows nothing of the tables
//! of `insn`, only where an instruction's fields are.
//!
//! A model goes through an operation's steps on a machine that notes what they read and write. What APX promotes (EVEX's map 4) does what
//! its legacy counterpart does, which processors have judged, but for a new destination and suppressed flags.

mod apx;
mod direct;

use std::fmt;

use insn::Access;
use insn::x86::{Flags, Insn, Reg, RegSet};

pub use apx::encodings as promoted;
pub use direct::ENCODINGS as DIRECT;

/// What an instruction does according to the manual; nothing if it has no model.
pub fn model(insn: &Insn) -> Option<Effects> {
    direct::model(insn).or_else(|| apx::model(insn))
}

/// What an instruction reads and writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Effects {
    /// Registers read, those of addresses included; flags and rip apart.
    pub reads: RegSet,
    /// Registers written; flags apart.
    pub writes: RegSet,
    /// Registers written in whole, or cleared where they are not written.
    pub overwrites: RegSet,
    /// Flags read.
    pub flags_read: Flags,
    /// Flags written or left undefined.
    pub flags_written: Flags,
    /// Flags that the operation sets in all cases.
    pub flags_overwritten: Flags,
    /// How the memory operand of modrm is used.
    pub memory: Option<Access>,
    /// Bytes pushed (below 0) and popped.
    pub stack: i32,
}

impl Effects {
    /// What `insn` says.
    pub fn told(insn: &Insn) -> Effects {
        let moved = |memory: insn::x86::Memory| match memory.access {
            _ if memory.base != Some(Reg::RSP) => 0,
            Access::Write => -i32::from(memory.size),
            _ => i32::from(memory.size),
        };
        Effects {
            reads: insn.reads().without(Reg::FLAGS).without(Reg::RIP),
            writes: insn.writes().without(Reg::FLAGS),
            overwrites: insn.overwrites(),
            flags_read: insn.flags_read(),
            flags_written: insn.flags_written(),
            flags_overwritten: insn.flags_overwritten(),
            memory: insn.memory().map(|memory| memory.access),
            stack: insn.implicit_memory().into_iter().flatten().map(moved).sum(),
        }
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Effects { reads, writes, overwrites, flags_read, flags_written, flags_overwritten, memory, stack } = self;
        write!(
            f,
            "reads {reads:?} {flags_read:?}, writes {writes:?} {flags_written:?}, in whole {overwrites:?} \
             {flags_overwritten:?}, memory {memory:?}, stack {stack}"
        )
    }
}

/// Notes what the steps of an operation read and write.
struct Machine<'a> {
    insn: &'a Insn,
    effects: Effects,
}

impl<'a> Machine<'a> {
    /// A machine on which only the address of the memory operand has been computed.
    fn new(insn: &'a Insn) -> Machine<'a> {
        let mut reads = RegSet::EMPTY;
        if let Some(memory) = insn.memory() {
            for register in [memory.base, memory.index].into_iter().flatten() {
                reads = reads.with(register);
            }
        }
        let effects = Effects {
            reads: reads.without(Reg::RIP),
            writes: RegSet::EMPTY,
            overwrites: RegSet::EMPTY,
            flags_read: Flags::EMPTY,
            flags_written: Flags::EMPTY,
            flags_overwritten: Flags::EMPTY,
            memory: insn.memory().map(|_| Access::None),
            stack: 0,
        };
        Machine { insn, effects }
    }

    fn read(&mut self, register: Reg) -> &mut Self {
        self.effects.reads = self.effects.reads.with(register);
        self
    }

    /// Writes all bits of a register.
    fn write(&mut self, register: Reg) -> &mut Self {
        if ![Reg::RIP, Reg::SYSTEM].contains(&register) {
            self.effects.overwrites = self.effects.overwrites.with(register);
        }
        self.write_part(register)
    }

    /// Writes a general register, of which 16 bits leave the others alone.
    fn write_word(&mut self, number: u8, is_word: bool) -> &mut Self {
        let register = Reg::gpr(number);
        if is_word { self.write_part(register) } else { self.write(register) }
    }

    fn write_rm_word(&mut self, is_word: bool) -> &mut Self {
        if self.effects.memory.is_some() { self.store() } else { self.write_word(self.insn.rm(), is_word) }
    }

    /// Writes some bits of a register, and leaves the others alone.
    fn write_part(&mut self, register: Reg) -> &mut Self {
        self.effects.writes = self.effects.writes.with(register);
        self
    }

    /// The operand that modrm.rm names: a register of the bank, or memory.
    fn read_rm(&mut self, bank: fn(u8) -> Reg) -> &mut Self {
        match self.effects.memory {
            None => self.read(bank(self.insn.rm())),
            Some(_) => self.load(),
        }
    }

    fn write_rm(&mut self, bank: fn(u8) -> Reg) -> &mut Self {
        match self.effects.memory {
            None => self.write(bank(self.insn.rm())),
            Some(_) => self.store(),
        }
    }

    fn load(&mut self) -> &mut Self {
        let before = self.effects.memory;
        self.effects.memory = Some(if before == Some(Access::Write) { Access::ReadWrite } else { Access::Read });
        self
    }

    fn store(&mut self) -> &mut Self {
        let before = self.effects.memory;
        self.effects.memory = Some(if before == Some(Access::Read) { Access::ReadWrite } else { Access::Write });
        self
    }

    fn push(&mut self, bytes: i32) -> &mut Self {
        self.effects.stack -= bytes;
        self.read(Reg::RSP).write(Reg::RSP)
    }

    fn pop(&mut self, bytes: i32) -> &mut Self {
        self.effects.stack += bytes;
        self.read(Reg::RSP).write(Reg::RSP)
    }

    fn read_flags(&mut self, flags: Flags) -> &mut Self {
        self.effects.flags_read = self.effects.flags_read.union(flags);
        self
    }

    /// Sets flags that user code can set.
    fn set_flags(&mut self, flags: Flags) -> &mut Self {
        self.effects.flags_overwritten = self.effects.flags_overwritten.union(flags);
        self.write_flags(flags)
    }

    fn write_flags(&mut self, flags: Flags) -> &mut Self {
        self.effects.flags_written = self.effects.flags_written.union(flags);
        self
    }

    fn done(&self) -> Effects {
        self.effects
    }
}

/// The flags that a condition code tests (SDM vol. 1, appendix B).
fn condition(code: u8) -> Flags {
    [
        Flags::OF,
        Flags::CF,
        Flags::ZF,
        Flags::CF.union(Flags::ZF),
        Flags::SF,
        Flags::PF,
        Flags::SF.union(Flags::OF),
        Flags::ZF.union(Flags::SF).union(Flags::OF),
    ][usize::from(code >> 1 & 7)]
}
