//! Memory operands.

use super::codes::{access, bank, memory, mode};
use super::insn::{field, signed_field};
use super::record::{Record, Rest};
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

/// How a common address mode makes an address, whose base is in bits 9 to 5.
#[derive(Clone, Copy)]
struct Mode {
    /// The bits of the displacement.
    mask: u32,
    /// A factor that moves its sign to the highest of 64 bits.
    scale: u64,
    /// The number of bits by which it is then shifted to the right.
    below: u8,
    /// Whether the displacement counts units: a mask for their logarithm.
    scaled: u8,
    by_vector_length: bool,
    writeback: Option<Writeback>,
    /// The first number of the bank of the index, which bits 20 to 16 name.
    index: Option<u8>,
    /// The code of an extension that the mode has always.
    extend: u8,
    /// Whether bits 15 to 13 have the code of an extension, and bit 12 says whether the index is shifted: a mask.
    option: u8,
    /// Whether the index is always shifted by the unit's logarithm: a mask.
    shifted: u8,
}

impl Mode {
    const BASE: Mode = Mode {
        mask: 0,
        scale: 1,
        below: 0,
        scaled: 0,
        by_vector_length: false,
        writeback: None,
        index: None,
        extend: extend::NONE,
        option: 0,
        shifted: 0,
    };
    const fn unsigned(low: u8, width: u8) -> Mode {
        Mode { mask: ((1 << width) - 1) << low, below: low, ..Mode::BASE }
    }
    const fn signed(low: u8, width: u8) -> Mode {
        let above = 64 - low - width;
        Mode { scale: 1 << above, below: low + above, ..Mode::unsigned(low, width) }
    }
    /// With a displacement in units.
    const fn scaled(self) -> Mode {
        Mode { scaled: 15, ..self }
    }
    const fn pre(self) -> Mode {
        Mode { writeback: Some(Writeback::Pre), ..self }
    }
    const fn post(self) -> Mode {
        Mode { writeback: Some(Writeback::Post), ..self }
    }
    const fn of(code: u32) -> Mode {
        let vector = Mode { index: Some(bank::VECTOR), shifted: 15, ..Mode::BASE };
        match code {
            mode::UNSIGNED12 => Mode::unsigned(10, 12).scaled(),
            mode::SIGNED9 => Mode::signed(12, 9).scaled(),
            mode::PRE9 => Mode::signed(12, 9).scaled().pre(),
            mode::POST9 => Mode::signed(12, 9).scaled().post(),
            mode::SIGNED7 => Mode::signed(15, 7).scaled(),
            mode::PRE7 => Mode::signed(15, 7).scaled().pre(),
            mode::POST7 => Mode::signed(15, 7).scaled().post(),
            mode::VECTORS4 => Mode { by_vector_length: true, ..Mode::signed(16, 4).scaled() },
            mode::VECTORS6 => Mode { by_vector_length: true, ..Mode::signed(16, 6).scaled() },
            mode::ARRAY4 => Mode { by_vector_length: true, ..Mode::unsigned(0, 4) },
            mode::REPLICATED4 => Mode::signed(16, 4).scaled(),
            mode::UNSIGNED6 => Mode::unsigned(16, 6).scaled(),
            mode::INDEX => Mode { index: Some(0), extend: 0, option: 15, ..Mode::BASE },
            mode::SCALAR_INDEX => Mode { index: Some(0), shifted: 15, ..Mode::BASE },
            mode::VECTOR_INDEX => vector,
            mode::VECTOR_UXTW => Mode { extend: extend::UXTW, ..vector },
            mode::VECTOR_SXTW => Mode { extend: extend::SXTW, ..vector },
            _ => Mode::BASE,
        }
    }
}

const MODES: [Mode; 32] = {
    let mut modes = [Mode::BASE; 32];
    let mut code = 0;
    while code < 32 {
        modes[code] = Mode::of(code as u32);
        code += 1;
    }
    modes
};

/// Codes of extensions, as bits 15 to 13 have them.
mod extend {
    pub(super) const NONE: u8 = 0;
    pub(super) const UXTW: u8 = 2;
    pub(super) const SXTW: u8 = 6;
}

const EXTENDS: [Extend; 8] = {
    let mut extends = [Extend::None; 8];
    extends[extend::UXTW as usize] = Extend::Uxtw;
    extends[extend::SXTW as usize] = Extend::Sxtw;
    extends
};

impl Insn {
    #[inline(always)]
    pub(super) fn memories_by(&self, record: Record) -> [Option<Memory>; 2] {
        let Record { memory: code, rest, .. } = record;
        let first = if code == memory::NONE { None } else { Some(memory_of(self.word, code)) };
        [first, if rest.has_second_memory() { second_memory(self.word, rest) } else { None }]
    }
}

#[inline(always)]
fn second_memory(word: u32, rest: Rest) -> Option<Memory> {
    rest.second_memory().map(|code| memory_of(word, code))
}
#[inline(always)]
fn memory_of(word: u32, code: u32) -> Memory {
    if code & 31 < mode::LITERAL { common_memory(word, code) } else { rare_memory(word, code) }
}
#[inline(always)]
fn common_memory(word: u32, code: u32) -> Memory {
    let mode = &MODES[(code & 31) as usize];
    let size = (code >> memory::SIZE & 0x3ff) as u16;
    let unit = (code >> memory::UNIT & 15) as u8;
    let below = mode.below.wrapping_sub(unit & mode.scaled);
    let displacement = (u64::from(word & mode.mask).wrapping_mul(mode.scale) as i64).wrapping_shr(below.into());
    let (option, is_shifted) = (field(word, 13, 3) as u8, (field(word, 12, 1) as u8).wrapping_neg());
    Memory {
        base: Address::Register(Reg::general_or_sp(field(word, 5, 5))),
        index: mode.index.map(|bank| Reg::from_number(bank.wrapping_add(field(word, 16, 5) as u8))),
        extend: EXTENDS[usize::from((mode.extend | option & mode.option) & 7)],
        shift: unit & (mode.shifted | is_shifted & mode.option),
        displacement,
        by_vector_length: mode.by_vector_length,
        writeback: mode.writeback,
        size,
        access: ACCESSES[(code >> memory::ACCESS & 3) as usize],
    }
}
// Inlined, so that nothing of it is left where nobody asks for memory.
#[inline(always)]
fn rare_memory(word: u32, code: u32) -> Memory {
    let mode = code & 31;
    let base = match mode {
        mode::LITERAL => Address::Pc,
        mode::AT_D => Address::Register(Reg::general(field(word, 0, 5))),
        mode::AT_M => Address::Register(Reg::general(field(word, 16, 5))),
        mode::GCS | mode::GCS_PUSH => Address::Register(Reg::GCSPR),
        mode::VECTOR_BASE_INDEX | mode::VECTOR_BASE5 => Address::Elements(Reg::vector(field(word, 5, 5))),
        _ => Address::Register(Reg::general_or_sp(field(word, 5, 5))),
    };
    let mut memory = Memory { base, ..common_memory(word, code) };
    let size = i64::from(memory.size);
    let index = field(word, 16, 5);
    match mode {
        mode::LITERAL => memory.displacement = signed_field(word, 5, 19).wrapping_shl(2),
        mode::GCS_PUSH => memory.displacement = -size,
        mode::VECTOR_BASE_INDEX => memory.index = Some(Reg::general(index)),
        mode::VECTOR_BASE5 => memory.displacement = i64::from(index).wrapping_shl(code >> memory::UNIT & 15),
        mode::SIGNED10 => memory.displacement = signed_10(word),
        mode::PRE10 => (memory.displacement, memory.writeback) = (signed_10(word), Some(Writeback::Pre)),
        mode::POST_SIZE => (memory.displacement, memory.writeback) = (size, Some(Writeback::Post)),
        mode::PRE_SIZE => (memory.displacement, memory.writeback) = (-size, Some(Writeback::Pre)),
        mode::POST_INDEX => {
            memory.writeback = Some(Writeback::Post);
            match index {
                31 => memory.displacement = size,
                index => memory.index = Some(Reg::general(index)),
            }
        }
        mode::VECTORS9 => {
            memory.by_vector_length = true;
            memory.displacement = signed_field(word, 16, 6).wrapping_shl(3) | i64::from(field(word, 10, 3));
        }
        _ => {}
    }
    memory
}
/// The displacement of `ldraa` and `ldrab`: bit 22, then bits 20 to 12, in units of 8 bytes.
fn signed_10(word: u32) -> i64 {
    let high = signed_field(word, 22, 1).wrapping_shl(9);
    (high | i64::from(field(word, 12, 9))).wrapping_shl(3)
}
