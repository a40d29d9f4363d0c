//! What an opcode form reads and writes: the cold tables (`generated/semantics.rs`), written by insn/gen/src/x86/semantics.rs.

use super::Insn;
use super::generated::semantics::{ATTRIBUTES, FLAGS, FORMS, IMPLICIT, LISTS, MEMORIES, OPERANDS, PAGES, ROWS, SETS};
use crate::Access;

/// Where an operand is. The numbers are those of insn/gen/src/x86/semantics.rs, the names SDM appendix A.2's letters.
pub(super) mod place {
    pub(in super::super) const E: u8 = 1;
    pub(in super::super) const G: u8 = 2;
    pub(in super::super) const B: u8 = 3;
    pub(in super::super) const Z: u8 = 4;
    pub(in super::super) const W: u8 = 5;
    pub(in super::super) const V: u8 = 6;
    pub(in super::super) const H: u8 = 7;
    pub(in super::super) const L: u8 = 8;
    pub(in super::super) const U: u8 = 9;
    pub(in super::super) const R: u8 = 10;
    pub(in super::super) const MV: u8 = 12;
    pub(in super::super) const Q: u8 = 14;
    pub(in super::super) const P: u8 = 15;
    pub(in super::super) const N: u8 = 16;
    pub(in super::super) const S: u8 = 17;
    pub(in super::super) const C: u8 = 18;
    pub(in super::super) const D: u8 = 19;
    pub(in super::super) const KG: u8 = 20;
    pub(in super::super) const KH: u8 = 21;
    pub(in super::super) const KR: u8 = 22;
    pub(in super::super) const KE: u8 = 23;
    pub(in super::super) const TG: u8 = 24;
    pub(in super::super) const TR: u8 = 25;
    pub(in super::super) const TH: u8 = 26;
    pub(in super::super) const BG: u8 = 27;
    pub(in super::super) const BE: u8 = 28;
    pub(in super::super) const X: u8 = 29;
    pub(in super::super) const Y: u8 = 30;
    /// A fixed register; its number is in the low seven bits.
    pub(in super::super) const FIXED: u8 = 0x80;
}

/// Attributes of a form.
pub(super) mod attr {
    /// Reads the flags of the condition in the opcode's low bits.
    pub(in super::super) const CONDITION: u32 = 1;
    /// Repeated by F2 and F3.
    pub(in super::super) const REP: u32 = 2;
    /// Operand size 64 by default in 64-bit mode.
    pub(in super::super) const DEFAULT_64: u32 = 4;
    /// Operand size 64 always in 64-bit mode.
    pub(in super::super) const FORCE_64: u32 = 8;
    /// Byte operands.
    pub(in super::super) const BYTE: u32 = 0x10;
    /// Masked by aaa.
    pub(in super::super) const MASK: u32 = 0x20;
    /// Masked by aaa, and the mask is cleared as the instruction goes on.
    pub(in super::super) const MASK_CLEARED: u32 = 0x40;
    /// vvvv stands for four registers.
    pub(in super::super) const QUAD: u32 = 0x80;
    /// NF suppresses the flags.
    pub(in super::super) const NF: u32 = 0x100;
    /// Conditional by SCC (`ccmp`, `ctest`).
    pub(in super::super) const SCC: u32 = 0x200;
    /// disp8 is scaled.
    pub(in super::super) const SCALED: u32 = 0x400;
    /// The destination is a vector register, in which masking merges.
    pub(in super::super) const MERGES: u32 = 0x800;
    /// modrm.rm names a vector register.
    pub(in super::super) const VECTOR_RM: u32 = 0x1000;
    /// The destination stands for two registers.
    pub(in super::super) const PAIR: u32 = 0x2000;
    /// The flags are an image of the operand size in memory.
    pub(in super::super) const IMAGE: u32 = 0x4000;
    /// Flags stay as they are where the count is 0.
    pub(in super::super) const COUNT: u32 = 0x8000;
    /// What is written only keeps some of its bits.
    pub(in super::super) const PART: u32 = 0x1_0000;
    /// Nothing is done with the operand.
    pub(in super::super) const NOTHING: u32 = 0x2_0000;
    /// What is written only keeps some of its bits where the source is a register.
    pub(in super::super) const PART_OF_REGISTER: u32 = 0x8_0000;
    /// The destination is zero-extended, whatever its size.
    pub(in super::super) const ZERO_UPPER: u32 = 0x4_0000;
}

/// One operand.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    /// One of [`place`].
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

/// A form, as stored: the numbers of operands, memory, implicit registers and flags, the kind of implicit memory, the number of attributes.
#[derive(Clone, Copy)]
pub(super) struct Form(&'static [u8; 6]);

/// An item by its number; nothing is told by numbers that no form has.
fn item<T: Copy + Default>(items: &[T], number: u8) -> T {
    items.get(usize::from(number)).copied().unwrap_or_default()
}

fn access(bits: u16) -> Access {
    match bits & 3 {
        0 => Access::None,
        1 => Access::Read,
        2 => Access::Write,
        _ => Access::ReadWrite,
    }
}

impl Form {
    pub(super) fn operands(&self) -> impl Iterator<Item = Operand> {
        let stored = item(&OPERANDS, self.0[0]).into_iter().filter(|code| *code != 0);
        stored.map(|code| Operand {
            place: code as u8,
            byte: code & 0x100 != 0,
            sized: code & 0x800 != 0,
            access: access(code >> 9),
        })
    }
    /// Access and code of the size of the memory operand.
    pub(super) fn memory(&self) -> (Access, u8) {
        let [code, _] = item(&MEMORIES, self.0[1]);
        (access(code >> 8), code as u8)
    }
    /// Bytes of an element that EVEX.b broadcasts; 0 where it does not.
    pub(super) fn broadcast(&self) -> u8 {
        let [_, scale] = item(&MEMORIES, self.0[1]);
        scale as u8
    }
    /// Scale of disp8 where it is not the memory size; else 0.
    pub(super) fn scale(&self) -> u8 {
        let [_, scale] = item(&MEMORIES, self.0[1]);
        (scale >> 8) as u8
    }
    /// Implicit registers read and written.
    pub(super) fn implicit(&self) -> (u128, u128) {
        let [read, written] = item(&IMPLICIT, self.0[2]);
        (item(&SETS, read), item(&SETS, written))
    }
    /// Flags read, written, always set by the operation, left undefined.
    pub(super) fn flags(&self) -> [u32; 4] {
        item(&FLAGS, self.0[3])
    }
    /// Kind of implicit memory access.
    pub(super) fn implicit_memory(&self) -> u8 {
        self.0[4]
    }
    pub(super) fn has(&self, attr: u32) -> bool {
        item(&ATTRIBUTES, self.0[5]) & attr != 0
    }
}

impl Insn {
    /// The form of the instruction.
    pub(super) fn form(&self) -> Form {
        const NOTHING: Form = Form(&[0; 6]);
        let Some(place) = self.place() else { return NOTHING };
        let row = ROWS.get(usize::from(self.space)).map_or(0, |row: &[u8; 16]| row[usize::from(self.opcode >> 4)]);
        let list = PAGES.get(usize::from(row)).map_or(0, |page: &[u16; 16]| page[usize::from(self.opcode & 15)]);
        let form = LISTS.get(usize::from(list) + place).copied().unwrap_or(0);
        FORMS.get(usize::from(form)).map_or(NOTHING, Form)
    }
}
