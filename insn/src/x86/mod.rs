//! Instructions of x86-64 and i386.
//!
//! "SDM" is the Intel 64 and IA-32 Architectures Software Developer's Manual, "APM" the AMD64 Architecture Programmer's Manual.

mod address;
mod address_fields;
mod batch;
mod choice;
mod chunk;
mod codes;
mod common;
mod decode;
mod decoder;
mod effects;
mod entry;
mod error;
mod fields;
mod flag_rows;
mod flag_step;
mod flags;
mod flow;
mod form;
mod general;
mod generated;
mod insn;
mod key;
mod lanes;
mod liveness;
mod memory;
mod mode;
mod names;
mod opcode;
mod operand_codes;
mod operand_list;
mod operands;
mod parts;
mod prefixed;
mod quick;
mod regs;
mod rex;
mod step;
mod validity;
mod vector;
mod walk;
#[cfg(all(any(feature = "std", test), target_arch = "x86_64"))]
mod wide;
#[cfg(not(all(any(feature = "std", test), target_arch = "x86_64")))]
#[path = "narrow.rs"]
mod wide;
mod x87;

#[cfg(feature = "std")]
pub use batch::starts_without_vectors;
pub use batch::{Branch, Swept, branches, starts};
pub use chunk::MAX_LEN;
pub use effects::Effects;
pub use error::{Error, ErrorKind};
pub use insn::Insn;
pub use liveness::{Dead, dead, dead_among};
pub use memory::Memory;
pub use mode::{Bits, Mode, Vendor};
pub use operand_list::{Operand, OperandKind};
pub use parts::{Encoding, Field, Map, Prefixes};
pub use regs::{Flags, Reg, RegSet};

/// Decodes the instruction at the start of `bytes`.
///
/// ```
/// use insn::x86::{Mode, Reg, decode};
/// use insn::{Flow, Target};
///
/// // call *0x10(%rax)
/// let insn = decode(&[0xff, 0x50, 0x10, 0x90], Mode::INTEL_64)?;
/// assert_eq!((insn.len(), insn.flow(), insn.target()), (3, Flow::Call, Target::Memory));
/// assert!(insn.reads().contains(Reg::RAX) && insn.writes().contains(Reg::RSP));
/// # Ok::<(), insn::x86::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Truncated`] if `bytes` ends before the instruction does; otherwise what is wrong, with the byte and its offset.
#[inline(always)]
pub fn decode(bytes: &[u8], mode: Mode) -> Result<Insn, Error> {
    decode::decode(bytes, mode)
}
