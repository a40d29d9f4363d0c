//! Memory operands.

use super::codes::{access, memory, mode};
use super::tables::Meaning;
use super::{Insn, Reg, RegSet};
use crate::Access;

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Address {
    /// A register.
    Register(Reg),
    /// The address of the instruction.
    Pc,
    /// Each element of a vector register. The memory operand stands for one access per element.
    Elements(Reg),
}

/// How an index register is extended to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Extend {
    /// All 64 bits are used.
    None,
    /// The low 32 bits, zero-extended.
    Uxtw,
    /// The low 32 bits, sign-extended.
    Sxtw,
}

/// Writeback of the base register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writeback {
    /// The address is base plus displacement, and is written back.
    Pre,
    /// The address is the base alone; base plus displacement or index is written back.
    Post,
}

/// A memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Memory {
    /// Base of the address.
    pub base: Address,
    /// Index register, general or vector.
    pub index: Option<Reg>,
    /// How the index is extended to 64 bits.
    pub extend: Extend,
    /// Number of bits by which the index is shifted to the left.
    pub shift: u8,
    /// Displacement in bytes, already scaled; with [`Memory::by_vector_length`] in units that the vector length determines.
    pub displacement: i64,
    /// `mul vl`: the unit of the displacement is the whole operand, whose size depends on the vector length.
    pub by_vector_length: bool,
    /// Whether and when the base is written back.
    pub writeback: Option<Writeback>,
    /// Number of bytes accessed from the address on, for all registers together; per element if the base or index is a vector register;
    /// 0 if the instruction does not determine it (vector length, memory copies).
    pub size: u16,
    /// How the memory is used.
    pub access: Access,
}

/// Accesses by number.
const ACCESSES: [Access; 4] = {
    let mut accesses = [Access::None; 4];
    accesses[access::READ as usize] = Access::Read;
    accesses[access::WRITE as usize] = Access::Write;
    accesses[access::READ_WRITE as usize] = Access::ReadWrite;
    accesses
};

impl Memory {
    /// The registers in the address.
    pub fn registers(&self) -> RegSet {
        let base = match self.base {
            Address::Register(base) | Address::Elements(base) => RegSet::EMPTY.with(base),
            Address::Pc => RegSet::EMPTY.with(Reg::PC),
        };
        self.index.map_or(base, |index| base.with(index))
    }
}

impl Insn {
    pub(super) fn memories_by(&self, meaning: &Meaning) -> [Option<Memory>; 2] {
        meaning.memory.map(|code| self.memory_of(code))
    }
    fn memory_of(&self, code: u32) -> Option<Memory> {
        if code == memory::NONE {
            return None;
        }
        let size = (code >> memory::SIZE & 0x3ff) as u16;
        let unit = code >> memory::UNIT & 15;
        let signed = |low, width| self.signed_field(low, width).wrapping_shl(unit);
        let writes_back = |when, displacement| (displacement, Some(when));
        let mut memory = Memory {
            base: Address::Register(Reg::general_or_sp(self.field(5, 5))),
            index: None,
            extend: Extend::None,
            shift: 0,
            displacement: 0,
            by_vector_length: false,
            writeback: None,
            size,
            access: ACCESSES[(code >> memory::ACCESS & 3) as usize],
        };
        (memory.displacement, memory.writeback) = match code & 0xff {
            mode::UNSIGNED12 => (i64::from(self.field(10, 12)).wrapping_shl(unit), None),
            mode::SIGNED9 => (signed(12, 9), None),
            mode::PRE9 => writes_back(Writeback::Pre, signed(12, 9)),
            mode::POST9 => writes_back(Writeback::Post, signed(12, 9)),
            mode::SIGNED7 => (signed(15, 7), None),
            mode::PRE7 => writes_back(Writeback::Pre, signed(15, 7)),
            mode::POST7 => writes_back(Writeback::Post, signed(15, 7)),
            mode::SIGNED10 => (self.signed_10(), None),
            mode::PRE10 => writes_back(Writeback::Pre, self.signed_10()),
            mode::POST_SIZE => writes_back(Writeback::Post, size.into()),
            mode::VECTORS4 => (signed(16, 4), None),
            mode::VECTORS6 => (signed(16, 6), None),
            mode::VECTORS9 => (signed(16, 6).wrapping_shl(3) | i64::from(self.field(10, 3)), None),
            mode::ARRAY4 => (self.field(0, 4).into(), None),
            mode::REPLICATED4 => (signed(16, 4), None),
            mode::UNSIGNED6 => (i64::from(self.field(16, 6)).wrapping_shl(unit), None),
            mode::VECTOR_BASE5 => (i64::from(self.field(16, 5)).wrapping_shl(unit), None),
            mode::PRE_SIZE => writes_back(Writeback::Pre, -i64::from(size)),
            mode::GCS_PUSH => (-i64::from(size), None),
            _ => (0, None),
        };
        match code & 0xff {
            mode::INDEX => {
                memory.index = Some(Reg::general(self.field(16, 5)));
                memory.extend = match self.field(13, 3) {
                    2 => Extend::Uxtw,
                    6 => Extend::Sxtw,
                    _ => Extend::None,
                };
                memory.shift = if self.field(12, 1) == 1 { unit as u8 } else { 0 };
            }
            mode::LITERAL => {
                memory.base = Address::Pc;
                memory.displacement = self.signed_field(5, 19).wrapping_shl(2);
            }
            mode::POST_INDEX => {
                memory.writeback = Some(Writeback::Post);
                match self.field(16, 5) {
                    31 => memory.displacement = size.into(),
                    index => memory.index = Some(Reg::general(index)),
                }
            }
            mode::AT_D => memory.base = Address::Register(Reg::general(self.field(0, 5))),
            mode::AT_M => memory.base = Address::Register(Reg::general(self.field(16, 5))),
            mode::GCS | mode::GCS_PUSH => memory.base = Address::Register(Reg::GCSPR),
            mode::VECTORS4 | mode::VECTORS6 | mode::VECTORS9 | mode::ARRAY4 => memory.by_vector_length = true,
            mode::SCALAR_INDEX => {
                memory.index = Some(Reg::general(self.field(16, 5)));
                memory.shift = unit as u8;
            }
            mode::VECTOR_INDEX | mode::VECTOR_UXTW | mode::VECTOR_SXTW => {
                memory.index = Some(Reg::vector(self.field(16, 5)));
                memory.shift = unit as u8;
                memory.extend = match code & 0xff {
                    mode::VECTOR_UXTW => Extend::Uxtw,
                    mode::VECTOR_SXTW => Extend::Sxtw,
                    _ => Extend::None,
                };
            }
            mode::VECTOR_BASE_INDEX => {
                memory.base = Address::Elements(Reg::vector(self.field(5, 5)));
                memory.index = Some(Reg::general(self.field(16, 5)));
            }
            mode::VECTOR_BASE5 => memory.base = Address::Elements(Reg::vector(self.field(5, 5))),
            _ => {}
        }
        Some(memory)
    }
    /// The displacement of `ldraa` and `ldrab`: bit 22, then bits 20 to 12, in units of 8 bytes.
    fn signed_10(&self) -> i64 {
        let high = self.signed_field(22, 1).wrapping_shl(9);
        (high | i64::from(self.field(12, 9))).wrapping_shl(3)
    }
}
