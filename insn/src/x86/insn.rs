//! The decoded instruction and what can be asked of it.

use super::{Error, ErrorKind, Mode};

/// One decoded instruction. Cheap to copy; everything but length, flow and validity is computed when asked for.
#[derive(Clone, Copy)]
pub struct Insn {
    /// The instruction, and whatever follows it.
    pub(super) bytes: [u8; 15],
    pub(super) len: u8,
    pub(super) mode: Mode,
    /// Opcode space, numbered as in insn/gen/src/parse.rs.
    pub(super) space: u8,
    /// Offset of the opcode byte; of 3DNow!'s second 0F.
    pub(super) opcode_at: u8,
    pub(super) opcode: u8,
    pub(super) flow: u8,
    /// Bytes of all immediates, the suffix of 3DNow! included.
    pub(super) tail: u8,
    /// A modrm byte follows the opcode; of its operand [`shape`] tells more.
    pub(super) shape: u8,
    pub(super) prefixes: u8,
    /// Number of the segment register of an override that counts; [`NO_SEGMENT`].
    pub(super) segment: u8,
    /// Extension bits, see [`ext`].
    pub(super) ext: u8,
    pub(super) vvvv: u8,
    /// EVEX's fourth byte; of VEX and XOP only L.
    pub(super) p2: u8,
    /// Mandatory prefix: 0 none, 1 66, 2 F3, 3 F2.
    pub(super) pp: u8,
}

/// The first eight bytes as one word, the first lowest: in one load.
#[inline(always)]
pub(super) fn first_word(bytes: &[u8; 15]) -> u64 {
    bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

pub(super) const NO_SEGMENT: u8 = 0xff;

/// Bits of `Insn::shape`.
pub(super) mod shape {
    /// There is a modrm byte.
    pub(in super::super) const MODRM: u8 = 1;
    /// It names a register whatever its mod says.
    pub(in super::super) const ANY_MOD: u8 = 2;
    /// A near branch, whose operand size is that of the mode on Intel.
    pub(in super::super) const NEAR: u8 = 4;
    /// The immediate is an address.
    pub(in super::super) const MOFFS: u8 = 8;
    /// Introduced by REX2.
    pub(in super::super) const REX2: u8 = 16;
}

/// Bits of `Insn::ext`: REX's four as they stand, then REX2's and EVEX's fifth bits.
pub(super) mod ext {
    pub(in super::super) const B: u8 = 1;
    pub(in super::super) const X: u8 = 2;
    pub(in super::super) const R: u8 = 4;
    pub(in super::super) const W: u8 = 8;
    pub(in super::super) const B4: u8 = 0x10;
    pub(in super::super) const X4: u8 = 0x20;
    pub(in super::super) const R4: u8 = 0x40;
    /// A REX or REX2 prefix: byte registers 4 to 7 are spl to dil.
    pub(in super::super) const REX: u8 = 0x80;
}

/// Kinds of errors by their number.
const KINDS: [ErrorKind; 9] = [
    ErrorKind::Truncated,
    ErrorKind::TooLong,
    ErrorKind::Opcode,
    ErrorKind::Lock,
    ErrorKind::Prefix,
    ErrorKind::Reserved,
    ErrorKind::Operand,
    ErrorKind::SameRegister,
    ErrorKind::Mvex,
];

impl Insn {
    /// All but bytes and mode, or the error (length 0), in two words that are returned in registers.
    pub(super) fn pack(result: &Result<Insn, Error>) -> (u64, u64) {
        match result {
            Ok(insn) => {
                let first = [
                    insn.len,
                    insn.space,
                    insn.opcode_at,
                    insn.opcode,
                    insn.flow,
                    insn.tail,
                    insn.shape,
                    insn.prefixes,
                ];
                let second = [insn.segment, insn.ext, insn.vvvv, insn.p2, insn.pp, 0, 0, 0];
                (u64::from_le_bytes(first), u64::from_le_bytes(second))
            }
            Err(error) => (0, u64::from_le_bytes([error.kind as u8, error.offset, error.byte, 0, 0, 0, 0, 0])),
        }
    }
    /// The inverse of [`Insn::pack`].
    #[inline(always)]
    pub(super) fn unpack(packed: (u64, u64), bytes: [u8; 15], mode: Mode) -> Result<Insn, Error> {
        let [len, space, opcode_at, opcode, flow, tail, shape, prefixes] = packed.0.to_le_bytes();
        let [segment, ext, vvvv, p2, pp, ..] = packed.1.to_le_bytes();
        if len == 0 {
            let kind = KINDS.get(usize::from(segment)).copied().unwrap_or(ErrorKind::Opcode);
            return Err(Error { kind, offset: ext, byte: vvvv });
        }
        Ok(Insn { bytes, len, mode, space, opcode_at, opcode, flow, tail, shape, prefixes, segment, ext, vvvv, p2, pp })
    }
}

/// Two instructions are equal when their bytes and modes are.
impl PartialEq for Insn {
    fn eq(&self, other: &Insn) -> bool {
        self.bytes() == other.bytes() && self.mode == other.mode
    }
}

impl Eq for Insn {}

impl core::hash::Hash for Insn {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
        self.mode.hash(state);
    }
}

impl core::fmt::Debug for Insn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Insn({:02x?}, {:?})", self.bytes(), self.mode)
    }
}

#[allow(clippy::len_without_is_empty)]
impl Insn {
    /// Length in bytes, 1 to 15.
    #[inline]
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
}
