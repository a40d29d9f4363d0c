//! The kinds of parts of an instruction: encoding, map, prefixes, displacement and immediates.

/// The encoding of an opcode: the prefixes that introduce it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Encoding {
    /// Legacy encoding, with or without REX.
    Legacy,
    /// APX's two-byte REX2 (D5).
    Rex2,
    /// VEX (C4, C5).
    Vex,
    /// AMD's XOP (8F).
    Xop,
    /// EVEX (62), APX's promoted forms included.
    Evex,
}

/// Opcode map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Map {
    /// Map of one-byte opcodes.
    OneByte = 0,
    /// Map 0F.
    M0F = 1,
    /// Map 0F 38.
    M0F38 = 2,
    /// Map 0F 3A.
    M0F3A = 3,
    /// EVEX map 4: APX's promoted legacy instructions.
    Map4 = 4,
    /// EVEX map 5 (FP16, AVX10).
    Map5 = 5,
    /// EVEX map 6 (FP16).
    Map6 = 6,
    /// VEX map 7.
    Map7 = 7,
    /// XOP map 8.
    Xop8 = 8,
    /// XOP map 9.
    Xop9 = 9,
    /// XOP map 10.
    XopA = 10,
    /// 3DNow! (0F 0F, the opcode is the last byte).
    Amd3DNow = 15,
}

/// A set of legacy prefixes, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Prefixes(u16);

impl Prefixes {
    /// Prefix F0 (LOCK).
    pub const LOCK: u16 = 1;
    /// Prefix F2.
    pub const REPNE: u16 = 2;
    /// Prefix F3.
    pub const REP: u16 = 4;
    /// Prefix 66.
    pub const OPERAND_SIZE: u16 = 8;
    /// Prefix 67.
    pub const ADDRESS_SIZE: u16 = 16;
    /// Any segment override; in 64-bit mode also the ignored ones of es, cs, ss and ds.
    pub const SEGMENT: u16 = 32;

    /// The set with the given bits.
    pub const fn from_bits(bits: u16) -> Prefixes {
        Prefixes(bits)
    }
    /// Whether any of the bits is set.
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }
}

/// A displacement or immediate in the bytes of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Offset from the instruction's first byte, in bytes.
    pub offset: u8,
    /// Size in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Sign-extended value. EVEX's disp8 is not scaled.
    pub value: i64,
}
