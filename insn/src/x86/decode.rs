//! The hot path: 64-bit mode, no prefix but REX, one-byte and 0F maps. All else goes to [`super::general`].

use core::hint::cold_path;

use super::entry::{self, GROUP3, IMM64, MODRM, MOFFS, NEAR, RULES, SPECIAL};
use super::generated::hot::GROUPS;
use super::insn::{NO_SEGMENT, Packed, ext, first_word, shape};
use super::{Bits, Error, ErrorKind, Insn, MAX_LEN, Mode, general};

#[inline(always)]
pub(super) fn decode(bytes: &[u8], mode: Mode) -> Result<Insn, Error> {
    let Some(chunk) = bytes.first_chunk::<MAX_LEN>() else {
        cold_path();
        return Ok(Packed::of_words(general::decode_packed(bytes, mode))?.unpack(padded(bytes), mode));
    };
    // Both ways end in plain words, so that the caller has few values to keep in registers.
    let packed = match hot(chunk, mode) {
        Some(packed) => packed,
        None => Packed::of_words(general::decode_packed(bytes, mode))?,
    };
    Ok(packed.unpack(*chunk, mode))
}

/// Fewer than 15 bytes: what is missing reads as 0 and is noticed by the length.
#[inline(never)]
pub(super) fn padded(bytes: &[u8]) -> [u8; MAX_LEN] {
    let mut chunk = [0; MAX_LEN];
    for (to, from) in chunk.iter_mut().zip(bytes) {
        *to = *from;
    }
    chunk
}

/// The error of an instruction that goes on behind the last of `available` bytes.
pub(super) fn out_of_bytes(chunk: &[u8; MAX_LEN], available: usize) -> Error {
    if available < MAX_LEN {
        return Error { kind: ErrorKind::Truncated, offset: available as u8, byte: 0 };
    }
    Error { kind: ErrorKind::TooLong, offset: (MAX_LEN - 1) as u8, byte: chunk[MAX_LEN - 1] }
}

/// The answer for what is common; `None` for all else.
#[inline(always)]
fn hot(chunk: &[u8; MAX_LEN], mode: Mode) -> Option<Packed> {
    let first = first_word(chunk);
    // REX stands on every second instruction: no branch would foresee it.
    let is_rex = u32::from(first & 0xf0 == 0x40);
    let rex = (first as u8 & 15 | ext::REX) & 0u8.wrapping_sub(is_rex as u8);
    let mut word = first >> (8 * is_rex);
    let mut at = is_rex;
    let mut space = 0;
    let (mut entry, mut after, mut len) = look_up(word, entry::one_byte);
    if entry & (SPECIAL | RULES) != 0 || mode.bits != Bits::B64 {
        if word as u8 != 0x0f || mode.bits != Bits::B64 {
            return None;
        }
        word >>= 8;
        at += 1;
        space = 1;
        (entry, after, len) = look_up(word, entry::two_byte);
        if entry & (SPECIAL | RULES) != 0 {
            return None;
        }
    }
    len += at;
    let modrm = (word >> 8) as u8;
    if (after & 0x20 != 0) & (word >> 16 & 7 == 5) {
        cold_path();
        len += 4;
    }
    // Every tenth instruction is of a group: all look into one, the first allows everything.
    let groups: &[u64; 32] = &GROUPS;
    let group = groups[entry::group(entry)];
    let reg = u32::from(modrm >> 3 & 7);
    let register = u32::from(modrm >= 0xc0);
    if group >> (reg + 8 * register) & 1 == 0 {
        return None;
    }
    if group >> 16 != 0 {
        cold_path();
        entry |= ((group >> (16 + 4 * reg) & 15) as u32) << entry::FLOW;
    }
    // W, moved to where IMM64 stands.
    let long = IMM64 & u32::from(rex & ext::W) << 3;
    if entry & (GROUP3 | long) != 0 {
        let tail = entry::immediate(entry, 1);
        let right = match (entry & GROUP3 != 0, modrm & 0x30) {
            (false, _) => 8,
            (true, 0) => tail,
            _ => 0,
        };
        len = len + right - tail;
        entry = entry + (right << entry::BASE) - (tail << entry::BASE);
    }
    // At most REX, escape, opcode, modrm, sib, four bytes of displacement and four of immediate, or eight without modrm.
    Some(Packed {
        len: len as u8,
        entry: entry | entry::PLAIN,
        place: u32::from_le_bytes([space, at as u8, word as u8, 0]),
        more: u64::from(NO_SEGMENT) | u64::from(rex) << 8,
    })
}

/// Of the opcode in the lowest byte: its entry, what its modrm brings along, and the bytes of all from it on.
#[inline(always)]
fn look_up(word: u64, table: impl Fn(u8) -> u32) -> (u32, u32, u32) {
    let entry = table(word as u8);
    // Masked, not branched upon: every fifth instruction has no modrm.
    let after = u32::from(entry::modrm((word >> 8) as u8)) & entry;
    (entry, after, entry::base(entry) + (after & 15))
}

/// `Insn::shape` of an entry.
#[inline(always)]
pub(super) fn shape_of(entry: u32) -> u8 {
    let bit = |flag: u32, to: u8| if entry & flag != 0 { to } else { 0 };
    bit(MODRM & 1, shape::MODRM)
        | bit(entry::ANY_MOD, shape::ANY_MOD)
        | bit(NEAR, shape::NEAR)
        | bit(MOFFS, shape::MOFFS)
        | bit(entry::REX2, shape::REX2)
        | bit(entry::PLAIN, shape::PLAIN)
}
