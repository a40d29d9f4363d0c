//! How a thread passes a site, made anew from the bytes that the entry holds.

use stepping::{Plan, SLOT_SIZE};

use super::entry::Entry;
use crate::arch::{self, Code, Emulate, Mode, Refusal, Slot, decode, plan};

/// Why a site cannot be passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes are not an instruction.
    NotAnInstruction(arch::Error),
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

    /// Whether the code in the slot does all that the instruction does, and leads back.
    pub fn is_boosted(&self) -> bool {
        match self {
            Passing::Emulate(emulate, code) => code.boosted() && !emulate.is_breakpoint(),
            Passing::Slot(code) => code.boosted(),
        }
    }
}

/// How to pass the instruction `bytes` at `site` with a slot at the address `slot`.
///
/// # Errors
/// The bytes are no instruction, or one that is refused.
pub fn prepare(bytes: &[u8], site: u64, slot: u64, mode: Mode) -> Result<(Passing, usize), Problem> {
    prepare_by(bytes, site, mode, |copy| copy.assemble(slot))
}

/// The same with a slot that needs no scratch register.
///
/// # Errors
/// The bytes are no instruction, or one that is refused, or its operand is out of reach of the slot.
pub fn prepare_near(bytes: &[u8], site: u64, slot: u64, mode: Mode) -> Result<(Passing, usize), Problem> {
    prepare_by(bytes, site, mode, |copy| copy.assemble_near(slot))
}

#[inline(always)]
fn prepare_by(
    bytes: &[u8],
    site: u64,
    mode: Mode,
    assemble: impl Fn(&Slot) -> Result<Code, Refusal>,
) -> Result<(Passing, usize), Problem> {
    let insn = decode(bytes, mode).map_err(Problem::NotAnInstruction)?;
    let passing = match plan(&insn, site) {
        Plan::Emulate(emulate) => Passing::Emulate(emulate, assemble(&emulate.slot()).map_err(Problem::Refused)?),
        Plan::Slot(copy) => Passing::Slot(assemble(&copy).map_err(Problem::Refused)?),
        Plan::Refuse(refusal) => return Err(Problem::Refused(refusal)),
    };
    Ok((passing, arch::length(&insn)))
}

/// How to pass the site of an entry.
///
/// # Errors
/// The entry holds no instruction that can be passed: somebody else wrote to it.
pub fn passing(entry: &Entry, slot: u64, mode: Mode) -> Result<Passing, Problem> {
    prepare(entry.bytes(), entry.site, slot, mode).map(|(passing, _)| passing)
}

/// The same for what [`prepare_near`] made.
///
/// # Errors
/// Those of [`passing`].
pub fn passing_near(entry: &Entry, slot: u64, mode: Mode) -> Result<Passing, Problem> {
    prepare_near(entry.bytes(), entry.site, slot, mode).map(|(passing, _)| passing)
}

/// How a thread passes a site whose slot holds what [`prepare`] made.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// Emulate; where that meets a fault, the slot raises it.
    Emulate(Emulate),
    /// Through the slot.
    Slot,
}

/// How to pass the site of an entry, without the code of its slot.
///
/// # Errors
/// The entry holds no instruction that can be passed: somebody else wrote to it.
pub fn way(entry: &Entry, mode: Mode) -> Result<Way, Problem> {
    let (bytes, length) = entry.padded();
    let mut insn = decode(bytes, mode).map_err(Problem::NotAnInstruction)?;
    if arch::length(&insn) != length {
        insn = decode(entry.bytes(), mode).map_err(Problem::NotAnInstruction)?;
    }
    match plan(&insn, entry.site) {
        Plan::Emulate(emulate) => Ok(Way::Emulate(emulate)),
        Plan::Slot(_) => Ok(Way::Slot),
        Plan::Refuse(refusal) => Err(Problem::Refused(refusal)),
    }
}

const _: () = assert!(SLOT_SIZE == 32, "the layout of the arena says 32");
