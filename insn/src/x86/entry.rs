//! Look-ups in the hot tables (`generated/hot.rs`).

use super::codes::entry::{GROUP, HAS_MODRM, IMM64, IMMEDIATE, MODRM, small};
use super::generated::hot::HOT;

/// The entry of an opcode with modrm and an immediate of `immediate` bytes.
pub(super) const fn with_modrm(immediate: u32) -> u32 {
    MODRM | HAS_MODRM | immediate << IMMEDIATE
}

/// The entry of a one-byte opcode.
#[inline(always)]
pub(super) fn one_byte(opcode: u8) -> u32 {
    let table: &[u32; 256] = &HOT.one_byte;
    table[usize::from(opcode)]
}

/// The entry of an opcode after 0F.
#[inline(always)]
pub(super) fn two_byte(opcode: u8) -> u32 {
    let table: &[u32; 256] = &HOT.two_byte;
    table[usize::from(opcode)]
}

/// Number of bytes of modrm, SIB byte and displacement in the low four bits; bit 4: there is a SIB byte; bit 5: four more bytes if its base
/// is 5.
#[inline(always)]
pub(super) fn modrm(byte: u8) -> u8 {
    let table: &[u8; 256] = &HOT.modrm;
    table[usize::from(byte)]
}

/// Number of immediate bytes for an operand size, given as 0, 1, 2 for 2, 4, 8 bytes.
#[inline(always)]
pub(super) fn immediate(entry: u32, size: u32) -> u32 {
    match size {
        0 => small(entry >> IMMEDIATE & 0xff),
        2 if entry & IMM64 != 0 => 8,
        _ => entry >> IMMEDIATE & 0xff,
    }
}

/// The group of an opcode: valid values of modrm's mod and reg in the lower half, the flow for each reg in the upper half.
#[inline(always)]
pub(super) fn group(entry: u32) -> u64 {
    let table: &[u64; 32] = &HOT.groups;
    table[(entry >> GROUP) as usize]
}
