//! The words of slots, with the registers of A64.

use insn::arm64::Reg;

/// The code of one slot of A64, for one address.
pub type Code = crate::Code<Reg>;
/// What a slot address means in terms of the original code of A64.
pub type Place = crate::Place<Reg>;
/// A general register of A64 to load before a thread enters the slot, and to put back when it has left.
pub type Scratch = crate::Scratch<Reg>;

/// What slots are filled with: `brk #0x7562`. The kernel takes immediates 4, 5, 6 and those from 0x100 on up to 0x9ff for itself
/// (arch/arm64/include/asm/brk-imm.h), compilers 0, 1, 0x3e8, 0x55xx, 0xc47x and 0xf000.
pub const BREAKPOINT: u32 = 0xd42e_ac40;
