//! The hot path: 64-bit mode, no prefix but REX, one-byte and 0F maps. All else goes to [`super::general`].

use super::entry::{self, GROUP3, MODRM, MOFFS, NEAR, RULES, SPECIAL};
use super::generated::hot::GROUPS;
use super::insn::{NO_SEGMENT, ext, shape};
use super::{Bits, Error, ErrorKind, Insn, MAX_LEN, Mode, general};

#[inline]
pub(super) fn decode(bytes: &[u8], mode: Mode) -> Result<Insn, Error> {
    match bytes.first_chunk::<MAX_LEN>() {
        Some(chunk) => decode_chunk(chunk, MAX_LEN, mode),
        None => decode_short(bytes, mode),
    }
}

/// Fewer than 15 bytes: what is missing reads as 0 and is noticed by the length.
#[inline(never)]
fn decode_short(bytes: &[u8], mode: Mode) -> Result<Insn, Error> {
    let mut chunk = [0; MAX_LEN];
    for (to, from) in chunk.iter_mut().zip(bytes) {
        *to = *from;
    }
    decode_chunk(&chunk, bytes.len(), mode)
}

/// The error of an instruction that goes on behind the last of `available` bytes.
pub(super) fn out_of_bytes(chunk: &[u8; MAX_LEN], available: usize) -> Error {
    if available < MAX_LEN {
        return Error { kind: ErrorKind::Truncated, offset: available as u8, byte: 0 };
    }
    Error { kind: ErrorKind::TooLong, offset: (MAX_LEN - 1) as u8, byte: chunk[MAX_LEN - 1] }
}

#[inline(always)]
fn decode_chunk(chunk: &[u8; MAX_LEN], available: usize, mode: Mode) -> Result<Insn, Error> {
    let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = *chunk;
    let mut word = u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
    let mut at = 0u32;
    let mut rex = 0;
    if b0 & 0xf0 == 0x40 {
        rex = b0 & 15 | ext::REX;
        word >>= 8;
        at = 1;
    }
    let mut opcode = word as u8;
    let mut entry = entry::one_byte(opcode);
    let mut space = 0;
    if opcode == 0x0f {
        word >>= 8;
        at += 1;
        opcode = word as u8;
        entry = entry::two_byte(opcode);
        space = 1;
    }
    if entry & (SPECIAL | RULES) != 0 || mode.bits != Bits::B64 {
        return general::decode(chunk, available, mode);
    }
    let mut tail = entry::immediate(entry, 1 + u32::from(rex >> 3 & 1));
    let mut flow = entry::flow(entry);
    let mut len = at + 1;
    if entry & MODRM != 0 {
        let modrm = (word >> 8) as u8;
        let after = entry::modrm(modrm);
        len += 1 + u32::from(after & 15);
        if after & 0x20 != 0 && word >> 16 & 7 == 5 {
            len += 4;
        }
        let group = entry::group(entry);
        if group != 0 {
            let groups: &[u64; 64] = &GROUPS;
            let group = groups[group];
            let reg = u32::from(modrm >> 3 & 7);
            let register = u32::from(modrm >= 0xc0);
            if group >> (reg + 8 * register) & 1 == 0 {
                return general::decode(chunk, available, mode);
            }
            flow = (group >> (16 + 4 * reg) & 15) as u8;
        }
        if entry & GROUP3 != 0 && modrm & 0x30 != 0 {
            tail = 0;
        }
    }
    len += tail;
    if len as usize > available {
        return Err(out_of_bytes(chunk, available));
    }
    Ok(Insn {
        bytes: *chunk,
        len: len as u8,
        mode,
        space,
        opcode_at: at as u8,
        opcode,
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
    bit(MODRM, shape::MODRM) | bit(entry::ANY_MOD, shape::ANY_MOD) | bit(NEAR, shape::NEAR) | bit(MOFFS, shape::MOFFS)
}
