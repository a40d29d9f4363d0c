//! Types of [`Insn::operands`](super::Insn::operands).

use super::{Condition, Memory, Reg, RegSet};
use crate::Access;

/// One operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Operand {
    /// What it is.
    pub kind: OperandKind,
    /// How the instruction uses it. A part of the instruction itself, such as an immediate, has [`Access::Read`].
    pub access: Access,
    /// Assemblers do not write it: `x30` of `bl`, `x17` of `pacia1716`.
    pub implicit: bool,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperandKind {
    /// A register.
    Register(Register),
    /// Registers that the instruction names as a list.
    Registers {
        /// The first of them.
        first: Register,
        /// How many they are.
        count: u8,
        /// Distance from each to the next; the number wraps after the bank's last register.
        stride: u8,
    },
    /// An element of a predicate register, whose number a general register and an offset add up to (`psel`).
    Element {
        /// The predicate register.
        register: Register,
        /// The general register, of which 32 bits are used.
        index: Reg,
        /// What is added to it.
        offset: u8,
    },
    /// A part of ZA.
    Array(Array),
    /// Memory.
    Memory(Memory),
    /// A number: an immediate, a pattern, a prefetch operation, a barrier's domain, a hint, NZCV, a part of `sys`. Decoded: a bit mask is its
    /// value, a number of bits to shift to the right is that number. A shift of it is an operand of its own.
    Immediate(i64),
    /// A floating-point number, as the bits of an `f32`.
    Float(u32),
    /// A shift or an extension of the operand before it. A shift by 0, which assemblers do not write, is told too.
    Shift {
        /// Which.
        kind: Shift,
        /// By how many bits; with [`Shift::Mul`] the factor.
        amount: u8,
    },
    /// A condition.
    Condition(Condition),
    /// A distance in bytes: from the instruction, with `adrp` from the start of its page.
    Label(i64),
    /// A system register.
    System(SystemRegister),
    /// A field of PSTATE that `msr` writes: op1 in bits 5 to 3, op2 in bits 2 to 0.
    PstateField(u8),
}

impl OperandKind {
    /// The registers that the operand names: those of a list, of an address, and those that select a slice, too.
    pub fn registers(&self) -> RegSet {
        match self {
            OperandKind::Memory(memory) => memory.registers(),
            _ => self.named(),
        }
    }
    /// The same without those of an address.
    pub(super) fn named(&self) -> RegSet {
        let set = RegSet::EMPTY;
        match self {
            OperandKind::Register(register) => set.with(register.reg),
            OperandKind::Registers { first, count, stride } => (0..u32::from(*count)).fold(set, |set, n| {
                let number = u32::from(first.reg.number()).wrapping_add(n.wrapping_mul(u32::from(*stride)));
                set.with(match first.reg {
                    first if first.as_vector().is_some() => Reg::vector(number),
                    first if first.as_general().is_some() => Reg::general(number),
                    _ => Reg::predicate(number),
                })
            }),
            OperandKind::Element { register, index, .. } => set.with(register.reg).with(*index),
            OperandKind::Array(array) => array.slices.map_or(set, |slices| set.with(slices.index)).with(Reg::ZA),
            _ => set,
        }
    }
}

/// A register as an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Register {
    /// The register.
    pub reg: Reg,
    /// The part of it that the instruction names.
    pub view: View,
    /// The number of one element: `v0.s[1]`.
    pub index: Option<u8>,
    /// What a governing predicate does with inactive elements of the destination, where the instruction tells.
    pub predication: Option<Predication>,
}

/// The part of a register that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum View {
    /// That many bytes: 4 for `w0`, 8 for `x0`, 1 to 16 for `b0` to `q0`.
    Scalar(u8),
    /// Elements of a SIMD register.
    Vector {
        /// Number of elements; 0 where one element is named (`v0.s[1]`).
        lanes: u8,
        /// Bytes of an element; 0 where the instruction does not tell.
        size: u8,
    },
    /// Elements of an SVE register or of a predicate, as many as the vector length allows, with that many bytes; 0 where the instruction
    /// does not tell (`z0`).
    Scalable(u8),
    /// A predicate as a counter (`pn8`), for elements of that many bytes; 0 where the instruction does not tell.
    Counter(u8),
}

/// What a governing predicate does with inactive elements of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Predication {
    /// They become 0.
    Zeroing,
    /// They keep their values.
    Merging,
}

/// A part of ZA: all of it, a tile, or slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Array {
    /// The number of the tile; `None` for the array of vectors.
    pub tile: Option<u8>,
    /// Bytes of an element; 0 where the instruction does not tell.
    pub size: u8,
    /// How the slices of a tile lie.
    pub direction: Option<Direction>,
    /// Which slices or vectors; `None` for all.
    pub slices: Option<Slices>,
}

/// How slices of a tile lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Rows.
    Horizontal,
    /// Columns.
    Vertical,
}

/// Slices of a tile, or vectors of ZA: `[w8, 0:3, vgx2]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Slices {
    /// The general register that selects, of which 32 bits are used.
    pub index: Reg,
    /// What is added to it for the first slice.
    pub offset: u8,
    /// How many consecutive slices.
    pub count: u8,
    /// How many vector groups (2 or 4); 0 where the instruction does not tell.
    pub groups: u8,
}

/// A shift or an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shift {
    /// To the left, with zeros.
    Lsl,
    /// To the right, with zeros.
    Lsr,
    /// To the right, with the sign.
    Asr,
    /// Rotated to the right.
    Ror,
    /// A byte, zero-extended, then shifted to the left.
    Uxtb,
    /// Two bytes, zero-extended, then shifted to the left.
    Uxth,
    /// Four bytes, zero-extended, then shifted to the left.
    Uxtw,
    /// Eight bytes, shifted to the left.
    Uxtx,
    /// A byte, sign-extended, then shifted to the left.
    Sxtb,
    /// Two bytes, sign-extended, then shifted to the left.
    Sxth,
    /// Four bytes, sign-extended, then shifted to the left.
    Sxtw,
    /// Eight bytes, shifted to the left.
    Sxtx,
    /// To the left, with ones.
    Msl,
    /// Multiplied.
    Mul,
}

/// A system register by its encoding, `S<op0>_<op1>_<CRn>_<CRm>_<op2>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SystemRegister(u16);

impl SystemRegister {
    /// The register whose encoding has `op0` in bits 15 and 14, `op1` in 13 to 11, `CRn` in 10 to 7, `CRm` in 6 to 3 and `op2` in 2 to 0.
    pub const fn from_bits(bits: u16) -> SystemRegister {
        SystemRegister(bits)
    }
    /// The encoding, as [`SystemRegister::from_bits`] takes it.
    pub const fn bits(self) -> u16 {
        self.0
    }
    /// `op0`, 2 or 3.
    pub const fn op0(self) -> u8 {
        (self.0 >> 14) as u8
    }
    /// `op1`, 0 to 7.
    pub const fn op1(self) -> u8 {
        (self.0 >> 11) as u8 & 7
    }
    /// `CRn`, 0 to 15.
    pub const fn crn(self) -> u8 {
        (self.0 >> 7) as u8 & 15
    }
    /// `CRm`, 0 to 15.
    pub const fn crm(self) -> u8 {
        (self.0 >> 3) as u8 & 15
    }
    /// `op2`, 0 to 7.
    pub const fn op2(self) -> u8 {
        self.0 as u8 & 7
    }
}
