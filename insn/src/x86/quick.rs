//! The lengths of common instructions of 64-bit mode for batches, and with their flags for scans.
//!
//! The tables here are the hot ones, rearranged so that few steps give a length.

use super::chunk::{MAX_LEN, first_word};
use super::codes::entry::{self, ALIKE, GROUP3, GROUPS as COUNT, IMM64, IMMEDIATE, MODRM};
use super::entry::{group, immediate, modrm, one_byte, two_byte};
use super::flag_rows::{self, NUMBERS, Row};
use super::generated::hot::HOT;
use super::insn::ext;
use super::opcode::without_rex;
use super::{Mode, general};

/// Position of a byte: the number of bytes without modrm and what it brings along.
const FIXED: u32 = 8;
/// Position of the numbers of the rows of flags ([`flag_rows::NUMBERS`]).
const ROWS: u32 = 16;
/// Position of the group, in the highest bits.
const GROUP: u32 = 26;
/// The number of a group without a valid instruction.
const NOTHING: u32 = COUNT as u32;
/// The number of groups, with room to spare, so that a mask serves in place of a comparison.
const ROOM: usize = 2 * COUNT;

/// By the opcode, behind 0F in the second half: what modrm adds ([`MODRM`]), [`GROUP3`] and [`IMM64`], the bytes at [`FIXED`], the rows, and the
/// group. The group of an opcode that the hot tables do not decide without prefix is [`NOTHING`].
static OPCODES: [u32; 512] = {
    const { assert!(ROWS + flag_rows::BITS == GROUP) };
    let mut opcodes = [0; 512];
    let mut at = 0;
    while at < 512 {
        let entry = if at < 256 { HOT.one_byte[at] } else { HOT.two_byte[at - 256] };
        let fixed = (entry >> IMMEDIATE & 0xff) + if at < 256 { 1 } else { 2 };
        let group = if entry & ALIKE != 0 { entry >> entry::GROUP } else { NOTHING };
        opcodes[at] = entry & (MODRM | GROUP3 | IMM64) | fixed << FIXED | (NUMBERS[at] as u32) << ROWS | group << GROUP;
        at += 1;
    }
    opcodes
};

/// By the group: the valid values of modrm's mod and reg.
static VALID: [u32; ROOM] = {
    let mut valid = [0; ROOM];
    let mut at = 0;
    while at < COUNT {
        valid[at] = HOT.groups[at] as u32;
        at += 1;
    }
    valid
};

/// A common instruction of 64-bit mode, without prefix but REX.
pub(super) struct Quick {
    pub(super) len: u32,
    /// The word whose lowest byte is the opcode.
    pub(super) word: u64,
    pub(super) row: Row,
    /// Whether there is a REX prefix with W.
    pub(super) is_wide: bool,
}

/// The length of the instruction at the start of the bytes, in 64-bit mode; `None` if it is not common.
#[inline(always)]
pub(super) fn length(chunk: &[u8; MAX_LEN]) -> Option<u32> {
    common(chunk).map(|quick| quick.len)
}

/// The instruction at the start of the bytes, in 64-bit mode; `None` if it is not common.
#[inline(always)]
pub(super) fn common(chunk: &[u8; MAX_LEN]) -> Option<Quick> {
    let word = first_word(chunk);
    // Neither REX nor 0F is a branch, because it would be mispredicted.
    let has_rex = word & 0xf0 == 0x40;
    let mut rest = if has_rex { word >> 8 } else { word };
    let is_escaped = rest as u8 == 0x0f;
    rest = if is_escaped { rest >> 8 } else { rest };
    let entry = OPCODES[usize::from(rest as u8) | usize::from(is_escaped) << 8];
    let after = u32::from(modrm((rest >> 8) as u8)) & entry;
    if VALID[(entry >> GROUP) as usize] >> (rest >> 11 & 31) & 1 == 0 {
        return None;
    }
    // One test for both, because the base alone is random if there is no SIB byte.
    let base_5 = ((rest >> 16 & 7 ^ 5) as u32).wrapping_sub(1);
    let no_base = (after & base_5 & 0x20) >> 3;
    let len = (after & 15) + u32::from((entry >> FIXED) as u8) + u32::from(has_rex) + no_base;
    let is_wide = word & 0xf8 == 0x48;
    let long = if is_wide { IMM64 } else { 0 };
    let len = if entry & (GROUP3 | long) != 0 { depending(len, rest) } else { len };
    let row = flag_rows::row(entry >> ROWS & ((1 << flag_rows::BITS) - 1), (rest >> 11) as u32);
    Some(Quick { len, word: rest, row, is_wide })
}

/// The length of an instruction that [`length`] does not tell, in 64-bit mode; 0 if there is no instruction.
#[inline(never)]
pub(super) fn other(chunk: &[u8; MAX_LEN], mode: Mode) -> u32 {
    prefixed(first_word(chunk)).unwrap_or_else(|| general::length(chunk, mode))
}

/// The length of an instruction behind one prefix that selects a form or a segment; `None` for all others.
#[inline(always)]
fn prefixed(word: u64) -> Option<u32> {
    let prefix = word as u8;
    let (is_66, is_f2, is_f3) = (prefix == 0x66, prefix == 0xf2, prefix == 0xf3);
    if !(is_66 | is_f2 | is_f3 | (prefix & 0xe7 == 0x26) | (prefix & 0xfe == 0x64)) {
        return None;
    }
    let alike = ALIKE << (u32::from(is_66) + 2 * u32::from(is_f3) + 3 * u32::from(is_f2));
    let (mut rest, rex) = without_rex(word >> 8);
    let is_escaped = rest as u8 == 0x0f;
    rest = if is_escaped { rest >> 8 } else { rest };
    let entry = if is_escaped { two_byte(rest as u8) } else { one_byte(rest as u8) };
    let following = (rest >> 8) as u8;
    if entry & alike == 0 || group(entry) >> (following >> 3) & 1 == 0 {
        return None;
    }
    let after = u32::from(modrm(following)) & entry;
    let no_base = if after & 0x20 != 0 && rest >> 16 & 7 == 5 { 4 } else { 0 };
    let size = match rex & ext::W != 0 {
        true => 2,
        false => u32::from(!is_66),
    };
    let has_immediate = entry & GROUP3 == 0 || following & 0x30 == 0;
    let immediate = if has_immediate { immediate(entry, size) } else { 0 };
    Some(2 + u32::from(rex != 0) + u32::from(is_escaped) + (after & 15) + no_base + immediate)
}

/// The length of an instruction whose immediate depends on modrm.reg (F6, F7), or is wider by REX.W (B8 to BF).
#[cold]
#[inline(always)]
fn depending(len: u32, rest: u64) -> u32 {
    match (rest as u8, (rest >> 8) as u8 & 0x30) {
        (0xf6, 0x10..) => len - 1,
        (0xf7, 0x10..) => len - 4,
        (0xf6 | 0xf7, _) => len,
        _ => len + 4,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mode, decode};
    use super::{MAX_LEN, first_word, length, prefixed};

    #[test]
    fn lengths_are_those_that_the_decoder_finds() {
        // What follows modrm: a SIB byte with a base, and two that have none behind a modrm with mod 0.
        const REST: [[u8; 3]; 3] = [[0x24, 0x11, 0xff], [0x25, 0x90, 0x00], [0xe5, 0x7f, 0x80]];
        const REX: [&[u8]; 4] = [&[], &[0x40], &[0x48], &[0x47]];
        const PREFIXES: [&[u8]; 7] = [&[], &[0x66], &[0xf2], &[0xf3], &[0x65], &[0x2e], &[0x66, 0xf3]];
        let mut found = [0; 2];
        for (at, prefix) in (0..256 * 256 * 24).flat_map(|at| PREFIXES.map(|prefix| (at, prefix))) {
            let [modrm, opcode, rest, _] = u32::to_le_bytes(at);
            let rest = usize::from(rest);
            let escape: &[u8] = if rest & 1 == 0 { &[] } else { &[0x0f] };
            let parts = [prefix, REX[rest / 2 % 4], escape, &[opcode, modrm], &REST[rest / 8 % 3]];
            let mut bytes = [0x5a; MAX_LEN];
            bytes.iter_mut().zip(parts.into_iter().flatten()).for_each(|(to, byte)| *to = *byte);
            let told = length(&bytes).or_else(|| prefixed(first_word(&bytes)));
            if let Some(len) = told {
                found[usize::from(!prefix.is_empty())] += 1;
                assert_eq!(decode(&bytes, Mode::INTEL_64).map(|insn| insn.len()), Ok(len as usize), "{bytes:02x?}");
                assert_eq!(decode(&bytes, Mode::AMD_64).map(|insn| insn.len()), Ok(len as usize), "{bytes:02x?}");
            }
        }
        assert!(found[0] > 500_000 && found[1] > 2_000_000, "{found:?}");
    }
}
