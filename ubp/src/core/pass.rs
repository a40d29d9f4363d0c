//! How a thread passes a site, computed from the instruction's bytes in the entry.

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

/// How threads pass a site, with the code of its slot.
#[derive(Clone, Copy, Debug)]
pub enum Passing {
    /// Emulate the instruction; the code in the slot only raises faults that emulation finds.
    Emulate(Emulate, Code),
    /// Execute the code in the slot.
    Slot(Code),
}

impl Passing {
    /// The code in the slot.
    pub fn code(&self) -> &Code {
        match self {
            Passing::Emulate(_, code) | Passing::Slot(code) => code,
        }
    }

    /// Whether the code in the slot does everything that the instruction does, and jumps back.
    pub fn is_boosted(&self) -> bool {
        match self {
            Passing::Emulate(emulate, code) => code.boosted() && !emulate.is_breakpoint(),
            Passing::Slot(code) => code.boosted(),
        }
    }
}

/// How threads pass the instruction at the beginning of `bytes`, which is at address `site`, with a slot at address `slot`; and the length of
/// the instruction in bytes.
///
/// # Errors
/// The bytes are not an instruction, or the instruction is refused.
pub fn prepare(bytes: &[u8], site: u64, slot: u64, mode: Mode) -> Result<(Passing, usize), Problem> {
    prepare_by(bytes, site, mode, |copy| copy.assemble(slot))
}

/// [`prepare`] with a slot that needs no scratch register.
///
/// # Errors
/// The bytes are not an instruction, the instruction is refused, or its operand is out of reach of the slot.
pub fn prepare_near(bytes: &[u8], site: u64, slot: u64, mode: Mode) -> Result<(Passing, usize), Problem> {
    prepare_by(bytes, site, mode, |copy| copy.assemble_near(slot))
}

/// [`prepare`] with a slot that does everything that a branch does ([`Passing::is_boosted`]), where there is one. It pushes nothing on shadow
/// stacks.
///
/// # Errors
/// The errors of [`prepare`].
pub fn prepare_whole(bytes: &[u8], site: u64, slot: u64, mode: Mode) -> Result<(Passing, usize), Problem> {
    let answer = prepare(bytes, site, slot, mode)?;
    if !arch::WHOLE_BRANCHES || !matches!(answer.0, Passing::Emulate(..)) || answer.0.is_boosted() {
        return Ok(answer);
    }
    let near = prepare_near(bytes, site, slot, mode).ok();
    Ok(near.filter(|(passing, _)| passing.is_boosted()).unwrap_or(answer))
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

/// How threads pass the site of an entry whose slot [`prepare`] made.
///
/// # Errors
/// The entry was overwritten: it holds no instruction that can be passed.
pub fn passing(entry: &Entry, slot: u64, mode: Mode) -> Result<Passing, Problem> {
    prepare(entry.bytes(), entry.site, slot, mode).map(|(passing, _)| passing)
}

/// How threads pass the site of an entry whose slot [`prepare_whole`] made.
///
/// # Errors
/// The errors of [`passing`].
pub fn passing_whole(entry: &Entry, slot: u64, mode: Mode) -> Result<Passing, Problem> {
    prepare_whole(entry.bytes(), entry.site, slot, mode).map(|(passing, _)| passing)
}

/// How threads pass the site of an entry whose slot [`prepare_near`] made.
///
/// # Errors
/// The errors of [`passing`].
pub fn passing_near(entry: &Entry, slot: u64, mode: Mode) -> Result<Passing, Problem> {
    prepare_near(entry.bytes(), entry.site, slot, mode).map(|(passing, _)| passing)
}

/// How threads pass a site, without the code of its slot.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// Emulate the instruction; the slot raises faults that emulation finds.
    Emulate(Emulate),
    /// Execute the code in the slot.
    Slot,
}

/// How threads pass the site of an entry, without the code of its slot.
///
/// # Errors
/// The entry was overwritten: it holds no instruction that can be passed.
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
