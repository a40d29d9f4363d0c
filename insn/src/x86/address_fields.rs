//! The registers that modrm, SIB byte and REX name, side by side as the bytes of a word: modrm.reg, modrm.rm or the base, the index.
//!
//! A record has at the same places how each is used ([`codes::common`](super::codes::common)).

use super::codes::common::{self as record, select, usage};
use super::insn::ext;

/// Numbers of registers, and the bits of a record that count.
#[derive(Clone, Copy)]
pub(super) struct Fields(u64);

const SELECTING: u64 = usage::SELECTING as u64;
/// Position of the fields that choose a record: of modrm alone, behind the numbers.
const CHOOSING: u32 = 56;

impl Fields {
    const fn new(numbers: u64, kept: u64) -> Fields {
        Fields(numbers << 32 | kept)
    }
    /// Whether a SIB byte follows.
    #[inline(always)]
    pub(super) fn has_sib(self) -> bool {
        self.0 & SELECTING << record::INDEX != 0
    }
    /// Whether the operand is relative to rip.
    #[inline(always)]
    pub(super) fn is_relative(self) -> bool {
        self.0 & record::RIP as u64 != 0
    }
    /// The fields by which an opcode's record is chosen.
    #[inline(always)]
    pub(super) fn choosing(self) -> u32 {
        (self.0 >> CHOOSING) as u32
    }
    /// The bytes of the record that count, each with the number of its register, and the record's bit of rip if it counts.
    #[inline(always)]
    pub(super) fn used(self, rex: Fields, sib: u32, record: u64) -> ([usize; 3], u32) {
        let kept = record as u32 & (self.0 & rex.0) as u32;
        let numbers = ((self.0 | rex.0) >> 32) as u32;
        let [reg, rm, index, _] = (kept | numbers | sib).to_le_bytes().map(usize::from);
        ([reg, rm, index], kept & record::RIP)
    }
}

/// By modrm.
static MODRM: [Fields; 256] = {
    let mut fields = [Fields(0); 256];
    let mut modrm = 0;
    while modrm < 256 {
        let (reg, rm) = (modrm as u64 >> 3 & 7, modrm as u64 & 7);
        let is_memory = modrm < 0xc0;
        let has_sib = is_memory && rm == 4;
        let is_relative = modrm < 0x40 && rm == 5;
        let choosing = modrm as u64 & 0x3f | (!is_memory as u64) << select::IS_REGISTER;
        let numbers = reg << record::REG | if has_sib { 0 } else { rm << record::RM } | choosing << (CHOOSING - 32);
        let kept = SELECTING << record::REG
            | if is_relative { record::RIP as u64 } else { SELECTING << record::RM }
            | if has_sib { SELECTING << record::INDEX } else { 0 };
        fields[modrm] = Fields::new(numbers, kept);
        modrm += 1;
    }
    fields
};

/// By the SIB byte, behind a modrm with mod 0 in the second half. A base that is none has [`usage::NONE`].
static SIB: [u16; 512] = {
    let mut fields = [0; 512];
    let mut at = 0;
    while at < 512 {
        let (base, index) = (at as u16 & 7, at as u16 >> 3 & 7);
        let none = if at >= 256 && base == 5 { usage::NONE as u16 } else { 0 };
        fields[at] = base | none | index << (record::INDEX - record::RM);
        at += 1;
    }
    fields
};

/// By the bits of `Insn::ext` that are REX's.
static REX: [Fields; REX_BITS + 1] = {
    let mut fields = [Fields(0); REX_BITS + 1];
    let mut at = 0;
    while at <= REX_BITS {
        let ext = at as u8;
        let numbers = high(ext & ext::R != 0, record::REG)
            | high(ext & ext::B != 0, record::RM)
            | high(ext & ext::X != 0, record::INDEX);
        // ah to bh cannot be named with REX.
        let byte = (usage::BYTE as u64) << record::REG | (usage::BYTE as u64) << record::RM;
        let cleared = if ext & ext::REX != 0 { byte } else { 0 };
        fields[at] = Fields::new(numbers, !cleared & 0xffff_ffff);
        at += 1;
    }
    fields
};

const REX_BITS: usize = (ext::REX | ext::W | ext::R | ext::X | ext::B) as usize;

/// The fourth bit of the number at `position`.
const fn high(is_set: bool, position: u32) -> u64 {
    if is_set { 8 << position } else { 0 }
}

/// The fields of modrm.
#[inline(always)]
pub(super) fn of_modrm(modrm: u8) -> Fields {
    let table: &[Fields; 256] = &MODRM;
    table[usize::from(modrm)]
}

/// The fields of REX's bits.
#[inline(always)]
pub(super) fn of_rex(ext: u8) -> Fields {
    REX[usize::from(ext) & REX_BITS]
}

/// The bytes of base and index.
#[inline(always)]
pub(super) fn of_sib(sib: u8, modrm: u8) -> u32 {
    u32::from(SIB[usize::from(sib) | usize::from(modrm < 0x40) << 8]) << record::RM
}
