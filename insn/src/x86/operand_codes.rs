//! Codes of the operands in `generated/operand_list.rs`, beside those of sizes in `codes.rs`.
//!
//! insn-gen, which writes the table, includes this file.
#![allow(dead_code, reason = "names serve insn-gen alone, some numbers insn alone")]

/// Position of a size in an operand's code; the low byte is a place.
pub(crate) const SIZE: u32 = 8;
/// Position of two bits: the access.
pub(crate) const ACCESS: u32 = 16;
/// A byte register: numbers 4 to 7 may be `ah` to `bh`.
pub(crate) const BYTE: u32 = 1 << 18;
/// No assembler writes the operand.
pub(crate) const IMPLICIT: u32 = 1 << 19;
/// The immediate is sign-extended.
pub(crate) const SIGNED: u32 = 1 << 20;
/// EVEX.b with a register is rounding or the suppression of exceptions: the vectors are of 512 bits.
pub(crate) const ROUNDS: u32 = 1 << 21;
/// In the first code of a form, beside its operand: modrm.reg is part of the opcode.
pub(crate) const EXTENSION: u32 = 1 << 22;
/// The operand stands for several registers: four vectors, or two masks or tiles.
pub(crate) const GROUP: u32 = 1 << 23;

/// Most operands of a form.
pub(crate) const MOST: usize = 5;

/// Where an operand is, by the letters of SDM appendix A.2, and what has no letter there.
pub(crate) mod place {
    pub(crate) const E: u8 = 1;
    pub(crate) const G: u8 = 2;
    pub(crate) const B: u8 = 3;
    pub(crate) const Z: u8 = 4;
    pub(crate) const W: u8 = 5;
    pub(crate) const V: u8 = 6;
    pub(crate) const H: u8 = 7;
    pub(crate) const L: u8 = 8;
    pub(crate) const U: u8 = 9;
    pub(crate) const R: u8 = 10;
    pub(crate) const M: u8 = 11;
    pub(crate) const MV: u8 = 12;
    pub(crate) const MS: u8 = 13;
    pub(crate) const Q: u8 = 14;
    pub(crate) const P: u8 = 15;
    pub(crate) const N: u8 = 16;
    pub(crate) const S: u8 = 17;
    pub(crate) const C: u8 = 18;
    pub(crate) const D: u8 = 19;
    pub(crate) const KG: u8 = 20;
    pub(crate) const KH: u8 = 21;
    pub(crate) const KR: u8 = 22;
    pub(crate) const KE: u8 = 23;
    pub(crate) const TG: u8 = 24;
    pub(crate) const TR: u8 = 25;
    pub(crate) const TH: u8 = 26;
    pub(crate) const BG: u8 = 27;
    pub(crate) const BE: u8 = 28;
    pub(crate) const X: u8 = 29;
    pub(crate) const Y: u8 = 30;
    pub(crate) const O: u8 = 31;
    /// What opcodes.txt calls them.
    pub(crate) const NAMES: &[(&str, u8)] = &[
        ("E", E),
        ("G", G),
        ("B", B),
        ("Z", Z),
        ("W", W),
        ("V", V),
        ("H", H),
        ("L", L),
        ("U", U),
        ("R", R),
        ("M", M),
        ("MV", MV),
        ("MS", MS),
        ("Q", Q),
        ("P", P),
        ("N", N),
        ("S", S),
        ("C", C),
        ("D", D),
        ("KG", KG),
        ("KH", KH),
        ("KR", KR),
        ("KE", KE),
        ("TG", TG),
        ("TR", TR),
        ("TH", TH),
        ("BG", BG),
        ("BE", BE),
        ("X", X),
        ("Y", Y),
        ("O", O),
    ];
    /// A fixed register; its number is in the low seven bits.
    pub(crate) const FIXED: u8 = 0x80;
    /// The first immediate.
    pub(crate) const IMMEDIATE: u8 = 0x40;
    /// The second immediate.
    pub(crate) const IMMEDIATE_2: u8 = 0x41;
    /// A distance of a branch.
    pub(crate) const RELATIVE: u8 = 0x42;
    /// A far pointer in the instruction.
    pub(crate) const FAR: u8 = 0x43;
    /// The constant 1.
    pub(crate) const ONE: u8 = 0x44;
    /// The low four bits of an immediate, beside a register in the others.
    pub(crate) const IMMEDIATE_LOW: u8 = 0x46;
    /// The registers of an x87 instruction, which the opcode tells.
    pub(crate) const X87: u8 = 0x45;
}

/// Sizes that are not in `codes.rs`.
pub(crate) mod size {
    /// The address size.
    pub(crate) const ADDRESS: u8 = 0xa0;
    /// 8 in 64-bit mode, else 4.
    pub(crate) const LONG: u8 = 0xa1;
}
