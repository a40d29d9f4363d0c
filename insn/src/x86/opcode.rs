//! What the hot tables tell of an opcode of the one-byte and 0F maps in 64-bit mode.

use super::codes::entry::{ALIKE, GROUP3, IMM64, IMMEDIATE};
use super::entry;
use super::insn::{Packed, ext, shape, shape_of};
use super::parts::Prefixes;

/// The word after a REX prefix, if there is one, and `Insn::ext` of the prefix.
#[inline(always)]
pub(super) fn without_rex(word: u64) -> (u64, u8) {
    // Every second instruction has REX, so a branch would be mispredicted.
    if word & 0xf0 == 0x40 { (word >> 8, word as u8 & 15 | ext::REX) } else { (word, 0) }
}

/// Marks a branch as seldom taken.
#[cold]
#[inline(always)]
fn cold() {}

/// The instruction whose opcode or escape is the lowest byte of `word`, with the offset `end` behind it; `None` if the hot tables are not
/// sufficient.
#[inline(always)]
pub(super) fn from_opcode(mut word: u64, rex: u8, mut end: u32, prefixes: u8, pp: u8, segment: u8) -> Option<Packed> {
    let alike = ALIKE << pp;
    let mut space = 0;
    let (mut entry, mut after, mut len) = look_up(word, entry::one_byte);
    if entry & alike == 0 {
        if word as u8 != 0x0f {
            return None;
        }
        word >>= 8;
        end += 1;
        space = 1;
        (entry, after, len) = look_up(word, entry::two_byte);
        if entry & alike == 0 {
            return None;
        }
    }
    len += end;
    let modrm = (word >> 8) as u8;
    if after & 0x20 != 0 {
        cold();
        len += if word >> 16 & 7 == 5 { 4 } else { 0 };
    }
    let group = entry::group(entry);
    if group >> (modrm >> 3) & 1 == 0 {
        return None;
    }
    let flow = (group >> 32 >> (modrm >> 1 & 0x1c)) as u8 & 15;
    let is_wide = rex & ext::W != 0;
    let small = prefixes & Prefixes::OPERAND_SIZE as u8 != 0 && !is_wide;
    if entry & (GROUP3 | IMM64) != 0 || small {
        cold();
        let tail = entry::immediate(entry, 1);
        let right = match (entry & GROUP3 != 0, modrm & 0x30) {
            (true, 0x10..) => 0,
            _ if small => entry::immediate(entry, 0),
            (false, _) if is_wide => entry::immediate(entry, 2),
            _ => tail,
        };
        len = len + right - tail;
        entry = entry + (right << IMMEDIATE) - (tail << IMMEDIATE);
    }
    Some(Packed {
        len,
        flow,
        entry,
        place: [space, end as u8 - 1, word as u8, prefixes],
        more: [segment, rex, 0, 0, pp, len as u8, flow, 0],
        behind: (word >> 8) as u32,
        unusual: shape_of(entry) & (shape::MOFFS | shape::REX2),
    })
}

/// The entry of the opcode in the lowest byte, the modrm table's value, and the number of bytes after the opcode.
#[inline(always)]
fn look_up(word: u64, table: impl Fn(u8) -> u32) -> (u32, u32, u32) {
    let entry = table(word as u8);
    // Masked, not branched, because every fifth instruction has no modrm.
    let after = u32::from(entry::modrm((word >> 8) as u8)) & entry;
    (entry, after, (entry >> IMMEDIATE & 0xff) + (after & 15))
}
