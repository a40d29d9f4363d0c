//! The hot path: 64-bit mode, one-byte and 0F maps, no prefix but REX. Other instructions go to [`super::general`], which first tries
//! [`super::prefixed`].

use super::chunk::{MAX_LEN, bytes_of, first_word, padded};
use super::general::decode_packed;
use super::insn::{NO_SEGMENT, Packed};
use super::opcode::{from_opcode, without_rex};
use super::{Bits, Error, Insn, Mode};

#[inline(always)]
pub(super) fn decode(bytes: &[u8], mode: Mode) -> Result<Insn, Error> {
    let Some(chunk) = bytes.first_chunk::<MAX_LEN>() else {
        let padded = bytes_of(&padded(bytes));
        return Ok(Packed::of_words(short(bytes, mode))?.completed(padded, mode).unpack(padded, mode));
    };
    // Both paths return plain words, so that the caller keeps few values in registers.
    let packed = match hot(chunk, mode) {
        Some(packed) => packed,
        None => Packed::of_words(decode_packed(bytes, mode))?.completed(bytes_of(chunk), mode),
    };
    Ok(packed.unpack(bytes_of(chunk), mode))
}

/// Fewer than 15 bytes, which only the end of a buffer has.
#[cold]
#[inline(never)]
fn short(bytes: &[u8], mode: Mode) -> (u64, u64) {
    decode_packed(bytes, mode)
}

/// The answer for common instructions; `None` for all others.
#[inline(always)]
fn hot(chunk: &[u8; MAX_LEN], mode: Mode) -> Option<Packed> {
    if mode.bits != Bits::B64 {
        return None;
    }
    let (word, rex) = without_rex(first_word(chunk));
    // At most REX, escape, opcode, modrm, sib, four bytes of displacement and four of immediate, or eight without modrm.
    from_opcode(word, rex, 1 + u32::from(rex != 0), 0, 0, NO_SEGMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length that the path finds for an instruction, which is the lowest bytes of the word in big-endian order.
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
