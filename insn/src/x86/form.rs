//! What an opcode form reads and writes: the cold tables (`generated/semantics.rs`), written by insn/gen/src/x86/semantics.rs.

use super::Insn;
use super::codes::{access, form, memory, operand, select};
use super::generated::semantics::{FLAGS, FORMS, LISTS, PAGES, ROWS, SETS};
use crate::Access;

/// A form, as stored: the words that [`form`] tells.
#[derive(Clone, Copy)]
pub(super) struct Form(&'static [u64; form::LEN]);

/// The registers that no field of the instruction names.
#[derive(Clone, Copy)]
pub(super) struct Implied {
    pub(super) read: u128,
    pub(super) written: u128,
    /// An SSE form overwrites bits 127:0 of the vector registers in this set.
    pub(super) overwritten: u128,
}

/// The set with a number; the empty set for a number that no form has.
#[inline(always)]
fn set(numbers: u64, position: u32) -> u128 {
    SETS.get((numbers >> position & 0xff) as usize).copied().unwrap_or(0)
}

fn access_of(bits: u16) -> Access {
    match bits & 3 {
        access::NONE => Access::None,
        access::READ => Access::Read,
        access::WRITE => Access::Write,
        _ => Access::ReadWrite,
    }
}

impl Form {
    /// Four codes of operands that are registers or elements of strings ([`operand`]); a code of 0 ends them.
    #[inline(always)]
    pub(super) fn operands(&self) -> u64 {
        self.0[form::OPERANDS]
    }
    /// The elements of strings, in order: whether each is at rsi (else at rdi), and how the instruction uses it.
    pub(super) fn strings(&self) -> impl Iterator<Item = (bool, Access)> {
        let codes = (0..4).map(|n| (self.operands() >> (16 * n)) as u16);
        codes
            .filter(|code| code & (operand::SOURCE_STRING | operand::DESTINATION_STRING) != 0)
            .map(|code| (code & operand::SOURCE_STRING != 0, access_of(code >> operand::ACCESS)))
    }
    /// Access and code of the size of the memory operand.
    #[inline(always)]
    pub(super) fn memory(&self) -> (Access, u8) {
        let code = self.0[form::MEMORY] as u16;
        (access_of(code >> memory::ACCESS), code as u8)
    }
    /// Size in bytes of an element that EVEX.b broadcasts; 0 if it does not broadcast.
    #[inline(always)]
    pub(super) fn broadcast(&self) -> u8 {
        (self.0[form::MEMORY] >> form::SCALE) as u8
    }
    /// Factor of disp8; 0 if it is the size of memory.
    #[inline(always)]
    pub(super) fn scale(&self) -> u8 {
        (self.0[form::MEMORY] >> form::SCALE >> memory::SCALE) as u8
    }
    /// The registers that no field names. `is_word` says that the operand size is 2.
    #[inline(always)]
    pub(super) fn implied(&self, is_word: bool) -> Implied {
        let numbers = self.0[form::NUMBERS];
        let overwritten = if is_word { form::OVERWRITTEN_BY_WORD } else { form::OVERWRITTEN };
        Implied {
            read: set(numbers, form::READ),
            written: set(numbers, form::WRITTEN),
            overwritten: set(numbers, overwritten),
        }
    }
    /// The flags that the form reads, writes, always sets, and leaves undefined.
    #[inline(always)]
    pub(super) fn flags(&self) -> [u32; 4] {
        FLAGS.get((self.0[form::NUMBERS] >> form::FLAGS & 0xff) as usize).copied().unwrap_or([0; 4])
    }
    /// Kind of implicit memory access.
    #[inline(always)]
    pub(super) fn implicit_memory(&self) -> u8 {
        (self.0[form::NUMBERS] >> form::IMPLICIT_MEMORY) as u8
    }
    #[inline(always)]
    pub(super) fn has(&self, attr: u32) -> bool {
        (self.0[form::MEMORY] >> form::ATTRIBUTES) as u32 & attr != 0
    }
}

impl Insn {
    /// The form of the instruction.
    #[inline]
    pub(super) fn form(&self) -> Form {
        const NOTHING: Form = Form(&[0; form::LEN]);
        let row = ROWS.get(usize::from(self.space)).map_or(0, |row: &[u8; 16]| row[usize::from(self.opcode >> 4)]);
        let forms = PAGES.get(usize::from(row)).map_or(0, |page: &[u16; 16]| page[usize::from(self.opcode & 15)]);
        let modrm = || self.modrm().unwrap_or(0xc0);
        let place = match forms >> select::POSITION {
            select::ONE => 0,
            select::EXTENSION => usize::from(modrm() >> 3 & 7),
            select::MODE => usize::from(modrm() >= 0xc0),
            select::PREFIX => usize::from(self.pp & 3),
            select::W => usize::from(self.w()),
            _ => match self.rule_index() {
                Some(index) => index,
                None => return NOTHING,
            },
        };
        let start = usize::from(forms & ((1 << select::POSITION) - 1));
        let form = LISTS.get(start + place).copied().unwrap_or(0);
        FORMS.get(usize::from(form)).map_or(NOTHING, Form)
    }
}
