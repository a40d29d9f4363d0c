//! Fields of the hot tables' entries (`generated/hot.rs`), the same as in insn/gen/src/x86/hot.rs.

use super::generated::hot::{GROUPS, MODRM as MODRM_TABLE, ONE_BYTE, TWO_BYTE};

/// A modrm byte follows: all bits that the modrm table yields.
pub(super) const MODRM: u32 = 0x3f;
/// With REX.W the immediate is of eight bytes.
pub(super) const IMM64: u32 = 1 << 6;
/// The immediate exists only for modrm.reg 0 and 1.
pub(super) const GROUP3: u32 = 1 << 7;
/// A near branch: 66 shortens its distance on AMD only, in 64-bit mode.
pub(super) const NEAR: u32 = 1 << 21;
/// The immediate is an address, of the address size.
pub(super) const MOFFS: u32 = 1 << 22;
/// modrm.mod is ignored: always a register.
pub(super) const ANY_MOD: u32 = 1 << 23;
/// In 64-bit mode and with no mandatory prefix the group says all of validity and flow; the next three bits: with 66,
/// F3, F2. None for prefixes, escapes, and what depends on more than modrm's mod and reg.
pub(super) const ALIKE: u32 = 1 << 24;
/// Not in the tables: introduced by REX2.
pub(super) const REX2: u32 = 1 << 28;
/// Where the bytes of immediates stand.
pub(super) const IMMEDIATE: u32 = 8;

/// An entry of an opcode with modrm and an immediate of so many bytes.
pub(super) const fn with_modrm(immediate: u32) -> u32 {
    MODRM | immediate << IMMEDIATE | immediate << 12
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

/// Bytes of modrm and what it brings along in the low four bits, bit 4: a SIB byte is among them, bit 5: its base 5 adds four.
#[inline(always)]
pub(super) fn modrm(byte: u8) -> u8 {
    let table: &[u8; 256] = &MODRM_TABLE;
    table[usize::from(byte)]
}

/// Bytes of immediates for the operand size's number: 0, 1, 2 for 2, 4, 8 bytes.
#[inline(always)]
pub(super) fn immediate(entry: u32, size: u32) -> u32 {
    match size {
        0 => entry >> 12 & 15,
        2 if entry & IMM64 != 0 => 8,
        _ => entry >> IMMEDIATE & 15,
    }
}

/// Group of the opcode: valid values of modrm's mod and reg in the lower half; a `Flow`'s number for each reg in the upper.
#[inline(always)]
pub(super) fn group(entry: u32) -> u64 {
    let table: &[u64; 32] = &GROUPS;
    table[(entry >> 16 & 31) as usize]
}
