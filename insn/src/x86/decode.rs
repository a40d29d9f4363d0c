//! The hot path: 64-bit mode, no prefix but REX, one-byte and 0F maps. All else goes to [`super::general`], by way of
//! [`super::prefixed`].

use core::hint::cold_path;

use super::entry::{self, ALIKE, GROUP3, IMM64, MODRM, MOFFS};
use super::insn::{NO_SEGMENT, Packed, bytes_of, ext, first_word, shape};
use super::{Bits, Error, ErrorKind, Insn, MAX_LEN, Mode, Prefixes, general};

#[inline(always)]
pub(super) fn decode(bytes: &[u8], mode: Mode) -> Result<Insn, Error> {
    let Some(chunk) = bytes.first_chunk::<MAX_LEN>() else {
        cold_path();
        return Ok(Packed::of_words(general::decode_packed(bytes, mode))?.unpack(bytes_of(&padded(bytes)), mode));
    };
    // Both ways end in plain words, so that the caller has few values to keep in registers.
    let packed = match hot(chunk, mode) {
        Some(packed) => packed,
        None => Packed::of_words(general::decode_packed(bytes, mode))?,
    };
    Ok(packed.unpack(bytes_of(chunk), mode))
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
    if mode.bits != Bits::B64 {
        return None;
    }
    let (word, rex) = without_rex(first_word(chunk));
    // At most REX, escape, opcode, modrm, sib, four bytes of displacement and four of immediate, or eight without modrm.
    from_opcode(word, rex, u32::from(rex != 0), 0, 0, NO_SEGMENT)
}

/// What follows a REX prefix, and `Insn::ext` of it.
#[inline(always)]
pub(super) fn without_rex(word: u64) -> (u64, u8) {
    // REX stands on every second instruction: no branch would foresee it.
    if word & 0xf0 == 0x40 { (word >> 8, word as u8 & 15 | ext::REX) } else { (word, 0) }
}

/// The instruction whose opcode or escape is the lowest byte of `word` and stands at `at`; `None` where the hot tables do not
/// tell all of it.
#[inline(always)]
pub(super) fn from_opcode(mut word: u64, rex: u8, mut at: u32, prefixes: u8, pp: u8, segment: u8) -> Option<Packed> {
    let alike = ALIKE << pp;
    let mut space = 0;
    let (mut entry, mut after, mut len) = look_up(word, entry::one_byte);
    if entry & alike == 0 {
        if word as u8 != 0x0f {
            return None;
        }
        word >>= 8;
        at += 1;
        space = 1;
        (entry, after, len) = look_up(word, entry::two_byte);
        if entry & alike == 0 {
            return None;
        }
    }
    len += at + 1;
    let modrm = (word >> 8) as u8;
    // One test of both: the base alone is random where there is no SIB byte.
    let base_5 = ((word >> 16 & 7 ^ 5) as u32).wrapping_sub(1);
    if after & base_5 & 0x20 != 0 {
        cold_path();
        len += 4;
    }
    let group = entry::group(entry);
    if group >> (modrm >> 3) & 1 == 0 {
        return None;
    }
    let flow = (group >> 32 >> (modrm >> 1 & 0x1c)) as u8 & 15;
    // W, moved to where IMM64 stands.
    let long = IMM64 & u32::from(rex & ext::W) << 3;
    let small = prefixes & Prefixes::OPERAND_SIZE as u8 != 0 && rex & ext::W == 0;
    if entry & (GROUP3 | long) != 0 || small {
        let tail = entry::immediate(entry, 1);
        let right = match (entry & GROUP3 != 0, modrm & 0x30) {
            (true, 0x10..) => 0,
            _ if small => entry::immediate(entry, 0),
            (false, _) if long != 0 => entry::immediate(entry, 2),
            _ => tail,
        };
        len = len + right - tail;
        entry = entry + (right << entry::IMMEDIATE) - (tail << entry::IMMEDIATE);
    }
    Some(Packed {
        len,
        flow,
        entry,
        place: u32::from_le_bytes([space, at as u8, word as u8, prefixes]),
        more: u64::from_le_bytes([segment, rex, 0, 0, pp, len as u8, flow, 0]),
    })
}

/// Of the opcode in the lowest byte: its entry, what its modrm brings along, and the bytes of all behind it.
#[inline(always)]
fn look_up(word: u64, table: impl Fn(u8) -> u32) -> (u32, u32, u32) {
    let entry = table(word as u8);
    // Masked, not branched upon: every fifth instruction has no modrm.
    let after = u32::from(entry::modrm((word >> 8) as u8)) & entry;
    (entry, after, (entry >> entry::IMMEDIATE & 15) + (after & 15))
}

/// `Insn::shape` of an entry.
#[inline(always)]
pub(super) fn shape_of(entry: u32) -> u8 {
    let bit = |flag: u32, to: u8| if entry & flag != 0 { to } else { 0 };
    bit(MODRM, shape::MODRM)
        | bit(entry::ANY_MOD, shape::ANY_MOD)
        | bit(MOFFS, shape::MOFFS)
        | bit(entry::REX2, shape::REX2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path's length of an instruction, whose bytes are the lowest of the word, the first highest.
    fn len(word: u64) -> Option<u32> {
        let mut chunk = [0xa5; MAX_LEN];
        let bytes = word.to_be_bytes().into_iter().skip_while(|byte| *byte == 0);
        chunk.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        hot(&chunk, Mode::INTEL_64).map(|packed| packed.len)
    }

    #[test]
    fn what_is_common_takes_the_hot_path() {
        let common = [
            (0x55, 1),
            (0xc3, 1),
            (0x4889c8, 3),
            (0x8b0425, 7),
            (0x8b442408, 4),
            (0x8b842408000000, 7),
            (0x488d0500000000, 7),
            (0x83c001, 3),
            (0x81c001000000, 6),
            (0x4881c001000000, 7),
            (0xb801000000, 5),
            (0x48b8, 10),
            (0xa1, 9),
            (0xf7d8, 2),
            (0xf7c001000000, 6),
            (0xf6c001, 3),
            (0xf6d8, 2),
            (0xe800000000, 5),
            (0xeb00, 2),
            (0x41ff2500000000, 7),
            (0x0f8400000000, 6),
            (0x0fb6c0, 3),
            (0x480fafc1, 4),
            (0x0f1f440000, 5),
            (0x0f1000, 3),
        ];
        for (word, expected) in common {
            assert_eq!(len(word), Some(expected), "{word:x}");
        }
    }

    #[test]
    fn what_tables_of_opcodes_do_not_tell_takes_another_path() {
        for word in [0xc5f877, 0x62f17c485800, 0x6689c8, 0xf0010a, 0x0f3800c1, 0xd50001c0, 0x8fe97880c0] {
            assert_eq!(len(word), None, "{word:x}");
        }
        assert!(hot(&[0x90; MAX_LEN], Mode::INTEL_32).is_none());
    }
}
