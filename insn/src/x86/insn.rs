//! The decoded instruction.

use core::ops::RangeInclusive;

use super::codes::{entry, flow, space};
use super::entry::immediate;
use super::{Bits, Error, ErrorKind, Mode, Prefixes};

/// A decoded instruction. It is cheap to copy. Everything but length, flow and validity is computed on request.
#[derive(Clone, Copy)]
// In the order of a packed instruction, so that a few loads and stores convert one into the other.
#[repr(C)]
pub struct Insn {
    /// The instruction and the bytes after it; the last byte is 0.
    pub(super) bytes: [u8; 16],
    /// Number of the segment register of an override that counts, or [`NO_SEGMENT`].
    pub(super) segment: u8,
    /// Extension bits, see [`ext`].
    pub(super) ext: u8,
    pub(super) vvvv: u8,
    /// EVEX's fourth byte; of VEX and XOP only L.
    pub(super) p2: u8,
    /// Mandatory prefix: 0 none, 1 66, 2 F3, 3 F2.
    pub(super) pp: u8,
    pub(super) len: u8,
    /// One of [`flow`]; with [`LONG`] of a relative branch whose distance `behind` does not have.
    pub(super) flow: u8,
    /// Not 0 if no record tells the effects ([`super::common`]).
    pub(super) unusual: u8,
    /// One of the constants of [`super::codes::space`].
    pub(super) space: u8,
    /// Offset of the opcode byte; for 3DNow! of the second 0F.
    pub(super) opcode_at: u8,
    pub(super) opcode: u8,
    pub(super) prefixes: u8,
    /// Size of all immediates in bytes, including the opcode suffix of 3DNow!.
    pub(super) tail: u8,
    /// Bits of [`shape`].
    pub(super) shape: u8,
    pub(super) mode: Mode,
    /// The four bytes behind the opcode, as far as they are in the first word: modrm and SIB byte, or the distance of a branch.
    pub(super) behind: u32,
}

/// No segment override counts.
pub(super) const NO_SEGMENT: u8 = 0xff;

/// Flows of relative branches.
pub(super) const BRANCHES: RangeInclusive<u8> = flow::JUMP..=flow::CALL;
/// In `Insn::flow`: a relative branch that is longer than the first word, or whose distance has two bytes.
pub(super) const LONG: u8 = 16;

/// Bits of `Insn::shape`, at their places in an entry of the hot tables ([`entry::SHAPE`]); the other bits mean nothing.
pub(super) mod shape {
    use super::entry;

    /// The bit in the shape of one in an entry.
    const fn of(bit: u32) -> u8 {
        (bit >> entry::SHAPE) as u8
    }
    /// There is a modrm byte.
    pub(in super::super) const MODRM: u8 = of(entry::HAS_MODRM);
    /// It names a register whatever its mod says.
    pub(in super::super) const ANY_MOD: u8 = of(entry::ANY_MOD);
    /// The immediate is an address.
    pub(in super::super) const MOFFS: u8 = of(entry::MOFFS);
    /// Introduced by REX2.
    pub(in super::super) const REX2: u8 = of(entry::REX2);
}

/// Bits of `Insn::ext`: REX's four as they stand, whether there is REX, then REX2's and EVEX's fifth bits.
pub(super) mod ext {
    pub(in super::super) const B: u8 = 1;
    pub(in super::super) const X: u8 = 2;
    pub(in super::super) const R: u8 = 4;
    pub(in super::super) const W: u8 = 8;
    /// A REX or REX2 prefix: byte registers 4 to 7 are spl to dil.
    pub(in super::super) const REX: u8 = 0x10;
    pub(in super::super) const B4: u8 = 0x20;
    pub(in super::super) const X4: u8 = 0x40;
    pub(in super::super) const R4: u8 = 0x80;
}

/// `Insn::shape` of an entry of the hot tables.
#[inline(always)]
pub(super) fn shape_of(entry: u32) -> u8 {
    (entry >> entry::SHAPE) as u8
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

/// An instruction without its bytes and mode, in few words.
pub(super) struct Packed {
    /// Length, separate from the rest because decoding the next instruction depends on it.
    pub(super) len: u32,
    pub(super) flow: u8,
    /// Tail and shape, in the form of an entry of the hot tables.
    pub(super) entry: u32,
    /// Space, offset of the opcode, opcode, prefixes.
    pub(super) place: [u8; 4],
    /// Segment, ext, vvvv, p2, pp, length and flow, from the lowest byte on.
    pub(super) more: [u8; 8],
    /// The four bytes behind the opcode.
    pub(super) behind: u32,
    /// [`Insn::unusual`].
    pub(super) unusual: u8,
}

impl Packed {
    /// A result as two words: entry and place, then the rest; for an error its fields, then 0.
    pub(super) fn words(result: &Result<Insn, Error>) -> (u64, u64) {
        let insn = match result {
            Ok(insn) => insn,
            Err(error) => return (u64::from_le_bytes([error.kind as u8, error.offset, error.byte, 0, 0, 0, 0, 0]), 0),
        };
        Packed::of_insn(insn).to_words()
    }
    /// The entry and place, then the rest.
    #[inline(always)]
    pub(super) fn to_words(&self) -> (u64, u64) {
        let place = u32::from_le_bytes(self.place);
        (u64::from(self.entry) | u64::from(place) << 32, u64::from_le_bytes(self.more))
    }
    #[inline(always)]
    pub(super) fn of_insn(insn: &Insn) -> Packed {
        let entry = u32::from(insn.shape) << entry::SHAPE | u32::from(insn.tail) << entry::IMMEDIATE;
        let place = [insn.space, insn.opcode_at, insn.opcode, insn.prefixes];
        let more = [insn.segment, insn.ext, insn.vvvv, insn.p2, insn.pp, insn.len, insn.flow, 0];
        Packed { len: insn.len.into(), flow: insn.flow, entry, place, more, behind: insn.behind, unusual: insn.unusual }
    }
    /// The result that [`Packed::words`] made, without what [`Packed::completed`] adds.
    #[inline(always)]
    pub(super) fn of_words(words: (u64, u64)) -> Result<Packed, Error> {
        let (first, more) = words;
        let more = more.to_le_bytes();
        let [_, _, _, _, _, len, flow, _] = more;
        if len == 0 {
            let [kind, offset, byte, ..] = first.to_le_bytes();
            let kind = KINDS.get(usize::from(kind)).copied().unwrap_or(ErrorKind::Opcode);
            return Err(Error { kind, offset, byte });
        }
        let (entry, place) = (first as u32, ((first >> 32) as u32).to_le_bytes());
        Ok(Packed { len: len.into(), flow, entry, place, more, behind: 0, unusual: 0 })
    }
    /// With what effects need of the instruction's bytes and mode.
    #[inline(always)]
    pub(super) fn completed(self, bytes: [u8; 16], mode: Mode) -> Packed {
        let [space, opcode_at, _, prefixes] = self.place;
        let behind = (u128::from_le_bytes(bytes) as u64).wrapping_shr(8 * u32::from(opcode_at) + 8) as u32;
        let unusual = shape_of(self.entry) & (shape::MOFFS | shape::REX2)
            | prefixes & Prefixes::ADDRESS_SIZE as u8
            | space & !space::M0F3A
            | mode.bits as u8 ^ Bits::B64 as u8
            // modrm and SIB byte would lie beyond the first word.
            | u8::from(opcode_at > 5);
        Packed { behind, unusual, ..self }
    }
    /// The instruction.
    #[inline(always)]
    pub(super) fn unpack(self, bytes: [u8; 16], mode: Mode) -> Insn {
        let [space, opcode_at, opcode, prefixes] = self.place;
        let [segment, ext, vvvv, p2, pp, ..] = self.more;
        Insn {
            bytes,
            len: self.len as u8,
            mode,
            space,
            opcode_at,
            opcode,
            flow: self.flow,
            tail: immediate(self.entry, 1) as u8,
            shape: shape_of(self.entry),
            prefixes,
            segment,
            ext,
            vvvv,
            p2,
            pp,
            behind: self.behind,
            unusual: self.unusual,
        }
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
    /// The length in bytes, 1 to 15.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }
    /// The instruction's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len()).unwrap_or(&[])
    }
    /// The mode that the instruction was decoded in.
    pub fn mode(&self) -> Mode {
        self.mode
    }
}
