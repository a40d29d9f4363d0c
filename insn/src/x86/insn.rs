//! The decoded instruction and what can be asked of it.

use super::{Error, ErrorKind, Flags, Memory, Mode, Reg, RegSet};
use crate::{Flow, Target};

/// How the opcode is introduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Encoding {
    /// Legacy, with or without REX.
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
    /// One-byte opcodes.
    OneByte = 0,
    /// 0F.
    M0F = 1,
    /// 0F 38.
    M0F38 = 2,
    /// 0F 3A.
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

/// Legacy prefixes that are present, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Prefixes(u16);

impl Prefixes {
    /// F0.
    pub const LOCK: u16 = 1;
    /// F2.
    pub const REPNE: u16 = 2;
    /// F3.
    pub const REP: u16 = 4;
    /// 66.
    pub const OPERAND_SIZE: u16 = 8;
    /// 67.
    pub const ADDRESS_SIZE: u16 = 16;
    /// A segment override (any; in 64-bit mode also the ignored es, cs, ss, ds).
    pub const SEGMENT: u16 = 32;

    /// The set of the given bits.
    pub const fn from_bits(bits: u16) -> Prefixes {
        Prefixes(bits)
    }
    /// Whether any of the bits is set.
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }
}

/// A displacement or immediate as it lies in the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Offset from the instruction's first byte.
    pub offset: u8,
    /// Bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Sign-extended value (EVEX's disp8 as it stands, not scaled).
    pub value: i64,
}

/// One decoded instruction. Cheap to copy; everything but length, fields, flow and validity is computed when asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Insn {
    bytes: [u8; 15],
    len: u8,
    mode: Mode,
}

#[allow(clippy::len_without_is_empty)]
impl Insn {
    /// Length in bytes, 1 to 15.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }
    /// The instruction's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len()).unwrap_or(&[])
    }
    /// The mode it was decoded in.
    pub fn mode(&self) -> Mode {
        self.mode
    }
    /// How the opcode is introduced.
    pub fn encoding(&self) -> Encoding {
        Encoding::Legacy
    }
    /// Opcode map.
    pub fn map(&self) -> Map {
        Map::OneByte
    }
    /// Opcode byte within its map.
    pub fn opcode(&self) -> u8 {
        0
    }
    /// Offset of the opcode byte.
    pub fn opcode_offset(&self) -> usize {
        0
    }
    /// Legacy prefixes present.
    pub fn prefixes(&self) -> Prefixes {
        Prefixes::default()
    }
    /// Offset of the modrm byte.
    pub fn modrm_offset(&self) -> Option<usize> {
        None
    }
    /// The modrm byte.
    pub fn modrm(&self) -> Option<u8> {
        None
    }
    /// Offset of the sib byte.
    pub fn sib_offset(&self) -> Option<usize> {
        None
    }
    /// The sib byte.
    pub fn sib(&self) -> Option<u8> {
        None
    }
    /// modrm.reg with its extension bits (REX.R, EVEX.R', …), 0 to 31.
    pub fn reg(&self) -> u8 {
        0
    }
    /// modrm.rm, or the opcode's low three bits, with the extension bit B: the register operand where mod = 3, 0 to 31.
    pub fn rm(&self) -> u8 {
        0
    }
    /// REX.W, VEX.W, EVEX.W.
    pub fn w(&self) -> bool {
        false
    }
    /// VEX.vvvv, or EVEX's with V', as a register number.
    pub fn vvvv(&self) -> u8 {
        0
    }
    /// Displacement of the memory operand.
    pub fn displacement(&self) -> Option<Field> {
        None
    }
    /// First immediate; relative branch distances and `moffs` addresses included.
    pub fn immediate(&self) -> Option<Field> {
        None
    }
    /// Second immediate (`enter`, `extrq`, far pointer selector).
    pub fn immediate2(&self) -> Option<Field> {
        None
    }
    /// Effective operand size in bytes (2, 4, 8; 1 for byte forms).
    pub fn operand_size(&self) -> u8 {
        4
    }
    /// Effective address size in bytes (2, 4, 8).
    pub fn address_size(&self) -> u8 {
        8
    }
    /// The memory operand of modrm or `moffs`.
    pub fn memory(&self) -> Option<Memory> {
        None
    }
    /// Memory operands that no modrm encodes: string elements, stack pushes and pops, `maskmov`, `xlat`.
    /// At most two; a stack access has its address *before* the instruction as displacement from rsp.
    pub fn implicit_memory(&self) -> [Option<Memory>; 2] {
        [None; 2]
    }
    /// Whether the memory operand is relative to the end of the instruction.
    pub fn is_rip_relative(&self) -> bool {
        false
    }
    /// The address of a rip-relative operand of the instruction at `pc`.
    pub fn rip_relative_address(&self, pc: u64) -> Option<u64> {
        let _ = pc;
        None
    }
    /// What it does to the flow of control.
    pub fn flow(&self) -> Flow {
        Flow::Next
    }
    /// Where a change of flow goes.
    pub fn target(&self) -> Target {
        Target::None
    }
    /// The target address of a direct branch at `pc`, truncated as the operand size and vendor command.
    pub fn target_address(&self, pc: u64) -> Option<u64> {
        let _ = pc;
        None
    }
    /// Registers read, implicit ones and those of addresses included.
    ///
    /// A register of which only a part is written keeps the rest; that alone does not make it read.
    pub fn reads(&self) -> RegSet {
        RegSet::EMPTY
    }
    /// Registers that may be written, implicit ones included.
    pub fn writes(&self) -> RegSet {
        RegSet::EMPTY
    }
    /// Flags read.
    pub fn flags_read(&self) -> Flags {
        Flags::EMPTY
    }
    /// Flags that may be written, those left undefined included.
    pub fn flags_written(&self) -> Flags {
        Flags::EMPTY
    }
}

pub(super) fn decode(bytes: &[u8], mode: Mode) -> Result<Insn, Error> {
    let _ = (bytes, mode, Reg::RAX);
    Err(Error { kind: ErrorKind::Truncated, offset: 0, byte: 0 })
}
