//! A step that is not what `insn` says.

use std::fmt;

use insn::x86::Bits;

use crate::item::{Code, Next};

/// One instruction that is not what `insn` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mismatch {
    /// The thread.
    pub tid: u32,
    /// The instruction's address.
    pub pc: u64,
    /// What lay there.
    pub code: Code,
    /// The width of the code segment.
    pub bits: Option<Bits>,
    /// Where the processor went.
    pub seen: Next,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wrong {
    /// The processor executed what is no instruction.
    Decode(insn::x86::Error),
    /// The processor executed an undefined instruction of arm64.
    Undefined(insn::arm64::Error),
    /// It should have gone on there: behind the instruction.
    Length(u64),
    /// It should have gone there.
    Target(u64),
    /// It should have gone on behind the instruction, or there.
    Condition {
        /// Behind the instruction.
        next: u64,
        /// The target.
        target: u64,
    },
    /// It should have faulted.
    Faulting,
    /// Nothing is known to let two instructions run at once here.
    Unseen,
    /// The thread was elsewhere: there, and nothing tells how it came here.
    Moved(u64),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}: {:#x}: ", self.tid, self.pc)?;
        for byte in self.code.bytes() {
            write!(f, "{byte:02x} ")?;
        }
        match self.wrong {
            Wrong::Decode(error) => write!(f, "is no instruction ({error})")?,
            Wrong::Undefined(error) => write!(f, "is no instruction ({error})")?,
            Wrong::Length(next) => write!(f, "goes to {next:#x}")?,
            Wrong::Target(target) => write!(f, "goes to {target:#x}")?,
            Wrong::Condition { next, target } => write!(f, "goes to {next:#x} or {target:#x}")?,
            Wrong::Faulting => write!(f, "faults")?,
            Wrong::Unseen => write!(f, "runs alone")?,
            Wrong::Moved(before) => return write!(f, "the thread was at {before:#x}"),
        }
        match self.seen {
            Next::At(next) => write!(f, "; the processor went to {next:#x}"),
            Next::Unseen(_) => write!(f, "; the processor ran the next one with it"),
            Next::Unfinished => Ok(()),
        }
    }
}
