//! Fields of the hot tables' entries (`generated/hot.rs`), the same as in insn/gen/src/hot.rs.

use super::generated::hot::{MODRM as MODRM_TABLE, ONE_BYTE, TWO_BYTE};

/// A modrm byte follows: all bits that the modrm table yields.
pub(super) const MODRM: u32 = 0x3f;
/// With REX.W the immediate is of eight bytes.
pub(super) const IMM64: u32 = 1 << 6;
/// The immediate exists only for modrm.reg 0 and 1.
pub(super) const GROUP3: u32 = 1 << 7;
/// Not for the hot path: prefix, escape, no such opcode in 64-bit mode, or dependent on the vendor.
pub(super) const SPECIAL: u32 = 1 << 25;
/// Validity depends on more than modrm's mod and reg.
pub(super) const RULES: u32 = 1 << 26;
/// A near branch: 66 shortens its distance on AMD only, in 64-bit mode.
pub(super) const NEAR: u32 = 1 << 27;
/// The immediate is an address, of the address size.
pub(super) const MOFFS: u32 = 1 << 28;
/// modrm.mod is ignored: always a register.
pub(super) const ANY_MOD: u32 = 1 << 29;

/// Not in the tables: introduced by REX2.
pub(super) const REX2: u32 = 1 << 30;
/// Not in the tables: decoded by the hot path.
pub(super) const PLAIN: u32 = 1 << 31;
/// Where the bytes of opcode, modrm and immediates stand.
pub(super) const BASE: u32 = 8;
/// Where the number of the `Flow` stands.
pub(super) const FLOW: u32 = 16;

/// An entry of an opcode with modrm and an immediate of so many bytes.
pub(super) const fn with_modrm(immediate: u32) -> u32 {
    MODRM | (2 + immediate) << 8 | immediate << 12
}

/// Entry of a one-byte opcode.
#[inline(always)]
pub(super) fn one_byte(opcode: u8) -> u32 {
    let table: &[u32; 256] = &ONE_BYTE;
    table[usize::from(opcode)]
}

/// Entry of an opcode after 0F.
#[inline(always)]
pub(super) fn two_byte(opcode: u8) -> u32 {
    let table: &[u32; 256] = &TWO_BYTE;
    table[usize::from(opcode)]
}

/// Bytes after modrm in the low four bits, bit 4: a SIB byte is among them, bit 5: its base 5 adds four.
#[inline(always)]
pub(super) fn modrm(byte: u8) -> u8 {
    let table: &[u8; 256] = &MODRM_TABLE;
    table[usize::from(byte)]
}

/// Bytes of opcode, modrm and immediates at operand size 4.
#[inline(always)]
pub(super) fn base(entry: u32) -> u32 {
    entry >> BASE & 15
}

/// Bytes of immediates for the operand size's number: 0, 1, 2 for 2, 4, 8 bytes.
#[inline(always)]
pub(super) fn immediate(entry: u32, size: u32) -> u32 {
    match size {
        0 => entry >> 12 & 15,
        2 if entry & IMM64 != 0 => 8,
        // An entry without immediates has 1 there, and 1 for modrm.
        _ => base(entry).wrapping_sub(1 + (entry & 1)) & 15,
    }
}

/// Number of the `Flow`.
#[inline(always)]
pub(super) fn flow(entry: u32) -> u8 {
    (entry >> FLOW & 15) as u8
}

/// Number of the group; 0: all extensions are alike.
#[inline(always)]
pub(super) fn group(entry: u32) -> usize {
    (entry >> 20 & 31) as usize
}
