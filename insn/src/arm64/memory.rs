//! Memory operands.

use super::codes::{access, bank, memory, mode};
use super::record::Record;
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

/// The base of an address mode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    /// The general register in bits 9 to 5, where 31 is sp.
    N,
    /// The general register in bits 4 to 0.
    D,
    /// The general register in bits 20 to 16.
    M,
    /// The elements of the vector register in bits 9 to 5.
    Elements,
    Pc,
    Gcs,
}

/// How an address mode makes an address.
#[derive(Clone, Copy)]
struct Mode {
    base: Base,
    /// The bits of the displacement.
    mask: u32,
    /// Shifts, to the left and back with the sign, that leave the displacement.
    left: u8,
    right: u8,
    /// Whether the displacement counts units: a mask for their logarithm.
    scaled: u8,
    /// The number of sizes that are added to the displacement.
    sizes: i8,
    by_vector_length: bool,
    writeback: Option<Writeback>,
    /// The first number of the bank of the index, which bits 20 to 16 name.
    index: Option<u8>,
    /// The code of an extension that the mode has always; [`Mode::OPTION`] if bits 15 to 13 have it.
    extend: u8,
    /// Whether the index is shifted by the unit's logarithm.
    shifted: bool,
}

impl Mode {
    const OPTION: u8 = 0xff;

    const BASE: Mode = Mode {
        base: Base::N,
        mask: 0,
        left: 0,
        right: 0,
        scaled: 0,
        sizes: 0,
        by_vector_length: false,
        writeback: None,
        index: None,
        extend: extend::NONE,
        shifted: false,
    };
    const fn unsigned(low: u8, width: u8) -> Mode {
        Mode { mask: ((1 << width) - 1) << low, right: low, ..Mode::BASE }
    }
    const fn signed(low: u8, width: u8) -> Mode {
        let left = 64 - low - width;
        Mode { left, right: low + left, ..Mode::unsigned(low, width) }
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
        let vector = Mode { index: Some(bank::VECTOR), shifted: true, ..Mode::BASE };
        match code {
            mode::UNSIGNED12 => Mode::unsigned(10, 12).scaled(),
            mode::SIGNED9 => Mode::signed(12, 9).scaled(),
            mode::PRE9 => Mode::signed(12, 9).scaled().pre(),
            mode::POST9 => Mode::signed(12, 9).scaled().post(),
            mode::SIGNED7 => Mode::signed(15, 7).scaled(),
            mode::PRE7 => Mode::signed(15, 7).scaled().pre(),
            mode::POST7 => Mode::signed(15, 7).scaled().post(),
            mode::PRE10 => Mode::BASE.pre(),
            mode::POST_SIZE => Mode { sizes: 1, ..Mode::BASE.post() },
            mode::PRE_SIZE => Mode { sizes: -1, ..Mode::BASE.pre() },
            mode::VECTORS4 => Mode { by_vector_length: true, ..Mode::signed(16, 4).scaled() },
            mode::VECTORS6 => Mode { by_vector_length: true, ..Mode::signed(16, 6).scaled() },
            mode::VECTORS9 => Mode { by_vector_length: true, ..Mode::BASE },
            mode::ARRAY4 => Mode { by_vector_length: true, ..Mode::unsigned(0, 4) },
            mode::REPLICATED4 => Mode::signed(16, 4).scaled(),
            mode::UNSIGNED6 => Mode::unsigned(16, 6).scaled(),
            mode::INDEX => Mode { index: Some(0), extend: Mode::OPTION, ..Mode::BASE },
            mode::LITERAL => {
                let words = Mode::signed(5, 19);
                Mode { base: Base::Pc, right: words.right - 2, ..words }
            }
            mode::POST_INDEX => Mode { index: Some(0), ..Mode::BASE.post() },
            mode::AT_D => Mode { base: Base::D, ..Mode::BASE },
            mode::AT_M => Mode { base: Base::M, ..Mode::BASE },
            mode::GCS_PUSH => Mode { base: Base::Gcs, sizes: -1, ..Mode::BASE },
            mode::GCS => Mode { base: Base::Gcs, ..Mode::BASE },
            mode::SCALAR_INDEX => Mode { index: Some(0), shifted: true, ..Mode::BASE },
            mode::VECTOR_INDEX => vector,
            mode::VECTOR_UXTW => Mode { extend: extend::UXTW, ..vector },
            mode::VECTOR_SXTW => Mode { extend: extend::SXTW, ..vector },
            mode::VECTOR_BASE_INDEX => Mode { base: Base::Elements, index: Some(0), ..Mode::BASE },
            mode::VECTOR_BASE5 => Mode { base: Base::Elements, ..Mode::unsigned(16, 5).scaled() },
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
    pub(super) const UXTW: u8 = 2;
    pub(super) const NONE: u8 = 3;
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
        let first = (record.memory != memory::NONE).then(|| self.memory_of(record.memory));
        let second = record.second_memory();
        [first, if second == memory::NONE { None } else { Some(self.memory_of(second)) }]
    }
    #[inline(always)]
    fn memory_of(&self, code: u32) -> Memory {
        let mode = &MODES[(code & 31) as usize];
        let size = (code >> memory::SIZE & 0x3ff) as u16;
        let unit = (code >> memory::UNIT & 15) as u8;
        let displacement =
            i64::from(self.word & mode.mask).wrapping_shl(mode.left.into()).wrapping_shr(mode.right.into());
        let n = self.field(5, 5);
        let base = match mode.base {
            Base::N => Address::Register(Reg::general_or_sp(n)),
            Base::D => Address::Register(Reg::general(self.field(0, 5))),
            Base::M => Address::Register(Reg::general(self.field(16, 5))),
            Base::Elements => Address::Elements(Reg::vector(n)),
            Base::Pc => Address::Pc,
            Base::Gcs => Address::Register(Reg::GCSPR),
        };
        let (extend, shifted) = match mode.extend {
            Mode::OPTION => (self.field(13, 3) as u8, self.field(12, 1) == 1),
            always => (always, mode.shifted),
        };
        let mut memory = Memory {
            base,
            index: mode.index.map(|bank| Reg::from_number(bank + self.field(16, 5) as u8)),
            extend: EXTENDS[usize::from(extend & 7)],
            shift: if shifted { unit } else { 0 },
            displacement: displacement.wrapping_shl((unit & mode.scaled).into())
                + i64::from(mode.sizes) * i64::from(size),
            by_vector_length: mode.by_vector_length,
            writeback: mode.writeback,
            size,
            access: ACCESSES[(code >> memory::ACCESS & 3) as usize],
        };
        self.complete(code & 0xff, &mut memory);
        memory
    }
    /// What the table does not tell of some modes.
    #[inline(always)]
    fn complete(&self, mode: u32, memory: &mut Memory) {
        match mode {
            mode::SIGNED10 | mode::PRE10 => memory.displacement = self.signed_10(),
            mode::VECTORS9 => {
                let high = self.signed_field(16, 6).wrapping_shl(3);
                memory.displacement = high | i64::from(self.field(10, 3));
            }
            mode::POST_INDEX if self.field(16, 5) == 31 => {
                (memory.index, memory.displacement) = (None, memory.size.into())
            }
            _ => {}
        }
    }
    /// The displacement of `ldraa` and `ldrab`: bit 22, then bits 20 to 12, in units of 8 bytes.
    fn signed_10(&self) -> i64 {
        let high = self.signed_field(22, 1).wrapping_shl(9);
        (high | i64::from(self.field(12, 9))).wrapping_shl(3)
    }
}
