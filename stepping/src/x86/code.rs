//! The words of slots, with the registers of x86.

use insn::x86::Reg;

/// The code of a slot of x86 at a given address.
pub type Code = crate::Code<Reg>;
/// The meaning of an address in a slot in terms of the original code of x86.
pub type Place = crate::Place<Reg>;
/// A general register of x86 to load before a thread enters the slot, and to restore after it has left.
pub type Scratch = crate::Scratch<Reg>;
