//! The words of slots, with the registers of x86.

use insn::x86::Reg;

/// The code of one slot of x86, for one address.
pub type Code = crate::Code<Reg>;
/// What a slot address means in terms of the original code of x86.
pub type Place = crate::Place<Reg>;
/// A general register of x86 to load before a thread enters the slot, and to put back when it has left.
pub type Scratch = crate::Scratch<Reg>;
