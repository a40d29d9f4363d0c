//! The fields that choose between the names of a form.
//!
//! insn-gen, which writes the tables, includes this file.

/// modrm.reg.
pub(crate) const REG: u16 = 0;
/// The lowest bit of modrm.reg, and modrm.rm.
pub(crate) const RM: u16 = 1;
/// Memory or register.
pub(crate) const MOD: u16 = 2;
/// Operand size 2, 4, 8.
pub(crate) const OPERAND_SIZE: u16 = 3;
/// Address size 2, 4, 8.
pub(crate) const ADDRESS_SIZE: u16 = 4;
/// The W bit.
pub(crate) const W: u16 = 5;
/// The W bit in 64-bit mode, 0 in others.
pub(crate) const LONG_W: u16 = 6;
/// Mandatory prefix: none, 66, F3, F2.
pub(crate) const PREFIX: u16 = 7;
/// The source condition code of `ccmp` and `ctest`.
pub(crate) const SCC: u16 = 8;
/// The W bit of REX2, 0 without it.
pub(crate) const REX2_W: u16 = 9;

/// In an item of the lists: the rest is the place of a choice, not the number of a name.
pub(crate) const CHOICE: u16 = 0x8000;
