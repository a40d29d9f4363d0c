//! What an opcode form reads and writes: the cold tables (`generated/semantics.rs`), written by insn/gen/src/x86/semantics.rs.

use super::Insn;
use super::codes::{access, form, memory, operand};
use super::generated::semantics::{ATTRIBUTES, FLAGS, FORMS, IMPLICIT, LISTS, MEMORIES, OPERANDS, PAGES, ROWS, SETS};
use crate::Access;

/// One operand.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    /// One of [`place`](super::codes::place).
    pub(super) place: u8,
    /// Names a byte register.
    pub(super) byte: bool,
    /// Of the operand size.
    pub(super) sized: bool,
    pub(super) access: Access,
}

impl Operand {
    pub(super) fn is_read(self) -> bool {
        matches!(self.access, Access::Read | Access::ReadWrite)
    }
    pub(super) fn is_written(self) -> bool {
        matches!(self.access, Access::Write | Access::ReadWrite)
    }
}

/// A form, as stored: the numbers that [`form`] tells.
#[derive(Clone, Copy)]
pub(super) struct Form(&'static [u8; form::LEN]);

/// An item by its number; nothing is told by numbers that no form has.
fn item<T: Copy + Default>(items: &[T], number: u8) -> T {
    items.get(usize::from(number)).copied().unwrap_or_default()
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
    pub(super) fn operands(&self) -> impl Iterator<Item = Operand> {
        let stored = item(&OPERANDS, self.0[form::OPERANDS]).into_iter().filter(|code| *code != 0);
        stored.map(|code| Operand {
            place: code as u8,
            byte: code & operand::BYTE != 0,
            sized: code & operand::SIZED != 0,
            access: access_of(code >> operand::ACCESS),
        })
    }
    /// Access and code of the size of the memory operand.
    pub(super) fn memory(&self) -> (Access, u8) {
        let [code, _] = item(&MEMORIES, self.0[form::MEMORY]);
        (access_of(code >> memory::ACCESS), code as u8)
    }
    /// Bytes of an element that EVEX.b broadcasts; 0 where it does not.
    pub(super) fn broadcast(&self) -> u8 {
        let [_, scale] = item(&MEMORIES, self.0[form::MEMORY]);
        scale as u8
    }
    /// Scale of disp8 where it is not the memory size; else 0.
    pub(super) fn scale(&self) -> u8 {
        let [_, scale] = item(&MEMORIES, self.0[form::MEMORY]);
        (scale >> memory::SCALE) as u8
    }
    /// Implicit registers read and written.
    pub(super) fn implicit(&self) -> (u128, u128) {
        let [read, written] = item(&IMPLICIT, self.0[form::IMPLICIT]);
        (item(&SETS, read), item(&SETS, written))
    }
    /// Flags read, written, always set by the operation, left undefined.
    pub(super) fn flags(&self) -> [u32; 4] {
        item(&FLAGS, self.0[form::FLAGS])
    }
    /// Kind of implicit memory access.
    pub(super) fn implicit_memory(&self) -> u8 {
        self.0[form::IMPLICIT_MEMORY]
    }
    pub(super) fn has(&self, attr: u32) -> bool {
        item(&ATTRIBUTES, self.0[form::ATTRIBUTES]) & attr != 0
    }
}

impl Insn {
    /// The form of the instruction.
    pub(super) fn form(&self) -> Form {
        const NOTHING: Form = Form(&[0; form::LEN]);
        let Some(place) = self.place() else { return NOTHING };
        let row = ROWS.get(usize::from(self.space)).map_or(0, |row: &[u8; 16]| row[usize::from(self.opcode >> 4)]);
        let list = PAGES.get(usize::from(row)).map_or(0, |page: &[u16; 16]| page[usize::from(self.opcode & 15)]);
        let form = LISTS.get(usize::from(list) + place).copied().unwrap_or(0);
        FORMS.get(usize::from(form)).map_or(NOTHING, Form)
    }
}
