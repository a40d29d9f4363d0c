//! Instructions of A64, the instruction set of AArch64.
//!
//! "Arm ARM" is the Arm Architecture Reference Manual for A-profile architecture, DDI 0487.

mod choice;
mod codes;
mod decode;
mod effects;
mod error;
mod flow;
mod form;
mod generated;
mod insn;
mod kind;
mod known;
mod memory;
mod names;
mod operand;
mod operand_codes;
mod operand_list;
mod operand_value;
mod operands;
mod pc_relative;
mod record;
mod regs;
mod special;
mod tables;
mod unpredictable;
mod way;

pub use effects::Effects;
pub use error::{Error, ErrorKind};
pub use insn::Insn;
pub use kind::{Condition, Exclusive, Kind, LandingPad, Trap};
pub use memory::{Address, Extend, Memory, Writeback};
pub use operand::{Array, Direction, Operand, OperandKind, Predication, Register, Shift, Slices, SystemRegister, View};
pub use pc_relative::PcRelative;
pub use regs::{Nzcv, Reg, RegSet};

/// The length of an instruction in bytes.
pub const LEN: usize = 4;

/// Decodes an instruction.
///
/// ```
/// use insn::arm64::{Reg, decode};
/// use insn::{Flow, Target};
///
/// // bl .+0x10
/// let insn = decode(0x9400_0004)?;
/// assert_eq!((insn.flow(), insn.target()), (Flow::Call, Target::Relative(0x10)));
/// assert!(insn.writes().contains(Reg::X30));
/// # Ok::<(), insn::arm64::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Undefined`] if the word is unallocated, or UNDEFINED because of its fields.
#[inline(always)]
pub fn decode(word: u32) -> Result<Insn, Error> {
    decode::decode(word)
}

/// The flow of a word that is known to be allocated, with one table look-up. The result for other words is meaningless.
#[inline(always)]
pub fn flow_of_allocated(word: u32) -> crate::Flow {
    known::flow_of_allocated(word)
}

/// Decodes a word that is known to be allocated, because it was decoded before or was executed. It does not check validity: the result for
/// other words is meaningless, but safe to use.
///
/// ```
/// // ret
/// assert_eq!(Ok(insn::arm64::decode_allocated(0xd65f_03c0)), insn::arm64::decode(0xd65f_03c0));
/// ```
#[inline(always)]
pub fn decode_allocated(word: u32) -> Insn {
    known::decode_allocated(word)
}
