//! The hot path: 64-bit mode, no prefix but REX, one-byte and 0F maps. All else goes to [`super::general`].

use core::hint::cold_path;

use super::entry::{self, GROUP, GROUP3, IMM64, MODRM, MOFFS, NEAR, RULES, SPECIAL};
use super::generated::hot::GROUPS;
use super::insn::{NO_SEGMENT, ext, first_word, shape};
use super::{Bits, Error, ErrorKind, Insn, MAX_LEN, Mode, general};

#[inline(always)]
pub(super) fn decode(bytes: &[u8], mode: Mode) -> Result<Insn, Error> {
    let Some(chunk) = bytes.first_chunk::<MAX_LEN>() else {
        cold_path();
        return Insn::unpack(general::decode_packed(bytes, mode), padded(bytes), mode);
    };
    match hot(chunk, mode) {
        Some(insn) => Ok(insn),
        // Only plain words go in and out, so that the hot path's fields stay in registers.
        None => Insn::unpack(general::decode_packed(bytes, mode), *chunk, mode),
    }
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
fn hot(chunk: &[u8; MAX_LEN], mode: Mode) -> Option<Insn> {
    let first = first_word(chunk);
    // REX stands on every second instruction: no branch would foresee it.
    let is_rex = u32::from(first as u8 & 0xf0 == 0x40);
    let rex = (first as u8 & 15 | ext::REX) & 0u8.wrapping_sub(is_rex as u8);
    let mut word = first >> (8 * is_rex);
    let mut at = is_rex;
    let mut space = 0;
    let mut entry = entry::one_byte(word as u8);
    if entry & (SPECIAL | RULES) != 0 || mode.bits != Bits::B64 {
        if word as u8 != 0x0f || mode.bits != Bits::B64 {
            return None;
        }
        word >>= 8;
        at += 1;
        space = 1;
        entry = entry::two_byte(word as u8);
        if entry & (SPECIAL | RULES) != 0 {
            return None;
        }
    }
    let mut flow = entry::flow(entry);
    let mut tail = entry::immediate(entry, 1);
    let modrm = (word >> 8) as u8;
    // Masked, not branched upon: every fifth instruction has no modrm.
    let after = u32::from(entry::modrm(modrm)) & entry;
    let mut len = at + entry::base(entry) + (after & 15);
    if after & 0x20 != 0 {
        cold_path();
        if word >> 16 & 7 == 5 {
            len += 4;
        }
    }
    if entry & (GROUP | GROUP3 | IMM64) != 0 {
        let group = entry::group(entry);
        if group != 0 {
            let groups: &[u64; 32] = &GROUPS;
            let group = groups[group];
            let reg = u32::from(modrm >> 3 & 7);
            let register = u32::from(modrm >= 0xc0);
            if group >> (reg + 8 * register) & 1 == 0 {
                return None;
            }
            flow = (group >> (16 + 4 * reg) & 15) as u8;
        }
        let no_immediate = entry & GROUP3 != 0 && modrm & 0x30 != 0;
        let long = entry & IMM64 != 0 && rex & ext::W != 0;
        let right = if long { 8 } else { tail };
        let right = if no_immediate { 0 } else { right };
        len = len + right - tail;
        tail = right;
    }
    // At most REX, escape, opcode, modrm, sib, four bytes of displacement and four of immediate, or eight without modrm.
    Some(Insn {
        bytes: *chunk,
        len: len as u8,
        mode,
        space,
        opcode_at: at as u8,
        opcode: word as u8,
        flow,
        tail: tail as u8,
        shape: shape_of(entry),
        prefixes: 0,
        segment: NO_SEGMENT,
        ext: rex,
        vvvv: 0,
        p2: 0,
        pp: 0,
    })
}

/// `Insn::shape` of an entry.
#[inline(always)]
pub(super) fn shape_of(entry: u32) -> u8 {
    let bit = |flag: u32, to: u8| if entry & flag != 0 { to } else { 0 };
    bit(MODRM & 1, shape::MODRM)
        | bit(entry::ANY_MOD, shape::ANY_MOD)
        | bit(NEAR, shape::NEAR)
        | bit(MOFFS, shape::MOFFS)
}
