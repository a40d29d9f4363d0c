//! The decoded instruction and what can be asked of it.

use super::decode::shape_of;
use super::{Error, ErrorKind, MAX_LEN, Mode, entry};

/// One decoded instruction. Cheap to copy; everything but length, flow and validity is computed when asked for.
#[derive(Clone, Copy)]
pub struct Insn {
    /// The instruction, and whatever follows it; the last is 0.
    pub(super) bytes: [u8; 16],
    pub(super) len: u8,
    pub(super) mode: Mode,
    /// Opcode space, numbered as in insn/gen/src/x86/parse.rs.
    pub(super) space: u8,
    /// Offset of the opcode byte; of 3DNow!'s second 0F.
    pub(super) opcode_at: u8,
    pub(super) opcode: u8,
    /// Number of the `Flow`, or 12 and 13: jump and call that are not relative; 16 more: a distance beyond the first word.
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
pub(super) fn first_word(bytes: &[u8; MAX_LEN]) -> u64 {
    bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// `Insn::bytes`: two words that overlap, as nothing beyond the fifteenth byte is read.
#[inline(always)]
pub(super) fn bytes_of(chunk: &[u8; MAX_LEN]) -> [u8; 16] {
    let last = chunk.last_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    (u128::from(first_word(chunk)) | u128::from(last >> 8) << 64).to_le_bytes()
}

pub(super) const NO_SEGMENT: u8 = 0xff;

/// Bits of `Insn::shape`.
pub(super) mod shape {
    /// There is a modrm byte.
    pub(in super::super) const MODRM: u8 = 1;
    /// It names a register whatever its mod says.
    pub(in super::super) const ANY_MOD: u8 = 2;
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

/// An instruction but for its bytes and mode, in few words.
pub(super) struct Packed {
    /// Apart from the rest, as the next instruction waits for it.
    pub(super) len: u32,
    pub(super) flow: u8,
    /// Tail and shape as an entry of the hot tables has them.
    pub(super) entry: u32,
    /// Space, offset of the opcode, opcode, prefixes.
    pub(super) place: u32,
    /// Segment, ext, vvvv, p2, pp, length and flow, from the lowest byte on.
    pub(super) more: u64,
}

impl Packed {
    /// The words of a result: entry and place, then the rest; of an error, its fields and 0.
    pub(super) fn words(result: &Result<Insn, Error>) -> (u64, u64) {
        let insn = match result {
            Ok(insn) => insn,
            Err(error) => return (u64::from_le_bytes([error.kind as u8, error.offset, error.byte, 0, 0, 0, 0, 0]), 0),
        };
        Packed::of_insn(insn).to_words()
    }
    #[inline(always)]
    pub(super) fn to_words(&self) -> (u64, u64) {
        (u64::from(self.entry) | u64::from(self.place) << 32, self.more)
    }
    fn of_insn(insn: &Insn) -> Packed {
        let bit = |from: u8, to: u32| if insn.shape & from != 0 { to } else { 0 };
        let entry = bit(shape::MODRM, 1)
            | bit(shape::ANY_MOD, entry::ANY_MOD)
            | bit(shape::MOFFS, entry::MOFFS)
            | bit(shape::REX2, entry::REX2)
            | u32::from(insn.tail) << entry::IMMEDIATE;
        let place = u32::from_le_bytes([insn.space, insn.opcode_at, insn.opcode, insn.prefixes]);
        let more = [insn.segment, insn.ext, insn.vvvv, insn.p2, insn.pp, insn.len, insn.flow, 0];
        Packed { len: insn.len.into(), flow: insn.flow, entry, place, more: u64::from_le_bytes(more) }
    }
    /// The inverse of [`Packed::words`].
    #[inline(always)]
    pub(super) fn of_words(words: (u64, u64)) -> Result<Packed, Error> {
        let (first, more) = words;
        let [_, _, _, _, _, len, flow, _] = more.to_le_bytes();
        if len == 0 {
            let [kind, offset, byte, ..] = first.to_le_bytes();
            let kind = KINDS.get(usize::from(kind)).copied().unwrap_or(ErrorKind::Opcode);
            return Err(Error { kind, offset, byte });
        }
        Ok(Packed { len: len.into(), flow, entry: first as u32, place: (first >> 32) as u32, more })
    }
    /// The instruction.
    #[inline(always)]
    pub(super) fn unpack(self, bytes: [u8; 16], mode: Mode) -> Insn {
        let [space, opcode_at, opcode, prefixes] = self.place.to_le_bytes();
        let [segment, ext, vvvv, p2, pp, ..] = self.more.to_le_bytes();
        Insn {
            bytes,
            len: self.len as u8,
            mode,
            space,
            opcode_at,
            opcode,
            flow: self.flow,
            tail: entry::immediate(self.entry, 1) as u8,
            shape: shape_of(self.entry),
            prefixes,
            segment,
            ext,
            vvvv,
            p2,
            pp,
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
