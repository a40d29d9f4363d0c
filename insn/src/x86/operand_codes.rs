//! Codes of the operands in `generated/operand_list.rs`, beside those of places and sizes in `codes.rs`.
//!
//! insn-gen, which writes the table, includes this file.

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

/// Most operands of a form.
pub(crate) const MOST: usize = 5;

/// Places that are not in `codes.rs`.
pub(crate) mod place {
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
