//! The second path: instructions of the hot path after prefixes that select a form or a segment.

use super::chunk::{MAX_LEN, bytes_of};
use super::codes::flow;
use super::insn::{NO_SEGMENT, Packed};
use super::opcode::{from_opcode, without_rex};
use super::{Bits, Mode, Prefixes};

/// The answer for an instruction of 64-bit mode with prefixes 66, F2, F3 and segment overrides; `None` for all others.
#[inline(always)]
pub(super) fn decode(chunk: &[u8; MAX_LEN], mode: Mode) -> Option<Packed> {
    if mode.bits != Bits::B64 {
        return None;
    }
    let mut rest = u128::from_le_bytes(bytes_of(chunk));
    let (mut at, mut prefixes, mut pp, mut segment) = (0, 0, 0, NO_SEGMENT);
    loop {
        let byte = rest as u8;
        let bit = |is: bool, bit: u16| if is { bit as u8 } else { 0 };
        let (repne, rep, ignored, used) = (byte == 0xf2, byte == 0xf3, byte & 0xe7 == 0x26, byte & 0xfe == 0x64);
        let found = bit(byte == 0x66, Prefixes::OPERAND_SIZE)
            | bit(repne, Prefixes::REPNE)
            | bit(rep, Prefixes::REP)
            | bit(ignored | used, Prefixes::SEGMENT);
        if found == 0 {
            break;
        }
        prefixes |= found;
        pp = if repne {
            3
        } else if rep {
            2
        } else {
            pp
        };
        segment = if used { byte & 7 } else { segment };
        rest >>= 8;
        at += 1;
    }
    if pp == 0 && prefixes & Prefixes::OPERAND_SIZE as u8 != 0 {
        pp = 1;
    }
    let (word, rex) = without_rex(rest as u64);
    let packed = from_opcode(word, rex, at + 1 + u32::from(rex != 0), prefixes, pp, segment)?;
    let most = if packed.flow == flow::NEXT { MAX_LEN as u32 } else { 8 };
    (packed.len <= most).then_some(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn len(bytes: &[u8]) -> Option<u32> {
        let mut chunk = [0xa5; MAX_LEN];
        chunk[..bytes.len()].copy_from_slice(bytes);
        decode(&chunk, Mode::INTEL_64).map(|packed| packed.len)
    }

    #[test]
    fn prefixes_that_choose_a_form_or_a_segment_take_this_path() {
        assert_eq!(len(&[0x66, 0x89, 0xc8]), Some(3));
        assert_eq!(len(&[0x66, 0x81, 0xc0, 1, 0]), Some(5));
        assert_eq!(len(&[0xf3, 0x0f, 0x10, 0x00]), Some(4));
        assert_eq!(len(&[0xf2, 0x48, 0x0f, 0x2a, 0xc0]), Some(5));
        assert_eq!(len(&[0x64, 0x8b, 0x00]), Some(3));
        assert_eq!(len(&[0x2e, 0x89, 0xc8]), Some(3));
        assert_eq!(len(&[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]), Some(10));
    }

    #[test]
    fn other_prefixes_and_modes_do_not() {
        assert_eq!(len(&[0xf0, 0x01, 0x0a]), None);
        assert_eq!(len(&[0x67, 0x8b, 0x00]), None);
        assert!(decode(&[0x90; MAX_LEN], Mode::INTEL_32).is_none());
    }
}
