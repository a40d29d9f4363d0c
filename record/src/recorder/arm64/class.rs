//! What the recorder must know about an instruction before it steps over it.
//!
//! The recorder's own actions depend on this alone. The trace has what the processor did.

use insn::Flow;
use insn::arm64::{Exclusive, decode};
use insn::x86::Bits;

/// How the recorder must treat an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::recorder) enum Class {
    /// As any other.
    Plain,
    /// It enters the kernel: the thread runs to the stops at entry and exit of the system call.
    Syscall,
    /// Load-exclusive: the thread runs until its store-exclusive is done.
    Exclusive,
}

/// The class of the instruction in `code`.
pub(in crate::recorder) fn class(bytes: &[u8], _: Option<Bits>) -> Class {
    let insn = bytes.first_chunk().and_then(|bytes| decode(u32::from_le_bytes(*bytes)).ok());
    match insn.map(|insn| (insn.flow(), insn.exclusive())) {
        Some((Flow::Syscall, _)) => Class::Syscall,
        Some((_, Some(Exclusive::Load))) => Class::Exclusive,
        _ => Class::Plain,
    }
}
