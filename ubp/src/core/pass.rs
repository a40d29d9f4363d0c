//! How a thread passes a site, made anew from the bytes that the entry holds.

use insn::x86::{Mode, decode};
use stepping::x86::{Code, Emulate, Plan, Refusal, SLOT_SIZE, plan};

use super::entry::Entry;

/// Why a site cannot be passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes are not an instruction.
    NotAnInstruction(insn::x86::Error),
    /// The instruction is refused.
    Refused(Refusal),
}

/// How to pass a site whose slot lies at a known address.
#[derive(Clone, Copy, Debug)]
pub enum Passing {
    /// Emulate; the code in the slot only raises the faults that emulation meets.
    Emulate(Emulate, Code),
    /// Run the code in the slot.
    Slot(Code),
}

impl Passing {
    /// The code in the slot.
    pub fn code(&self) -> &Code {
        match self {
            Passing::Emulate(_, code) | Passing::Slot(code) => code,
        }
    }
}

/// How to pass the instruction `bytes` at `site` with a slot at the address `slot`.
///
/// # Errors
/// The bytes are no instruction, or one that is refused.
pub fn prepare(bytes: &[u8], site: u64, slot: u64, mode: Mode) -> Result<(Passing, usize), Problem> {
    let insn = decode(bytes, mode).map_err(Problem::NotAnInstruction)?;
    let passing = match plan(&insn, site) {
        Plan::Emulate(emulate) => Passing::Emulate(emulate, emulate.slot().assemble(slot).map_err(Problem::Refused)?),
        Plan::Slot(copy) => Passing::Slot(copy.assemble(slot).map_err(Problem::Refused)?),
        Plan::Refuse(refusal) => return Err(Problem::Refused(refusal)),
        // A plan of a kind that this crate does not know yet cannot be carried out.
        _ => return Err(Problem::Refused(Refusal::CodeSegment16)),
    };
    Ok((passing, insn.len()))
}

/// How to pass the site of an entry.
///
/// # Errors
/// The entry holds no instruction that can be passed: somebody else wrote to it.
pub fn passing(entry: &Entry, slot: u64, mode: Mode) -> Result<Passing, Problem> {
    prepare(entry.bytes(), entry.site, slot, mode).map(|(passing, _)| passing)
}

const _: () = assert!(SLOT_SIZE == 32, "the layout of the arena says 32");
