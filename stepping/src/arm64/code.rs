//! The words of slots, with the registers of A64.

use insn::arm64::Reg;

/// The code of a slot of A64 at a given address.
pub type Code = crate::Code<Reg>;
/// The meaning of an address in a slot in terms of the original code of A64.
pub type Place = crate::Place<Reg>;
/// A general register of A64 to load before a thread enters the slot, and to restore after it has left.
pub type Scratch = crate::Scratch<Reg>;

/// The breakpoint instruction that fills slots: `brk #0x7562`. The kernel uses the immediates 4, 5, 6 and 0x100 to 0x9ff
/// (arch/arm64/include/asm/brk-imm.h), compilers use 0, 1, 0x3e8, 0x55xx, 0xc47x and 0xf000.
pub const BREAKPOINT: u32 = 0xd42e_ac40;
