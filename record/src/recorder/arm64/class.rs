//! What must be known of an instruction before it is stepped over.
//!
//! Only what the recorder does for its own sake depends on this; the trace says what the processor did.

use insn::Flow;
use insn::arm64::{Exclusive, decode};
use insn::x86::Bits;

/// Which care an instruction needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::recorder) enum Class {
    /// None.
    Plain,
    /// It enters the kernel: the thread runs to the two stops there.
    Syscall,
    /// Load-exclusive: the thread runs to behind its store.
    Exclusive,
}

/// Looks at an instruction's bytes.
pub(in crate::recorder) fn class(bytes: &[u8], _: Option<Bits>) -> Class {
    let insn = bytes.first_chunk().and_then(|bytes| decode(u32::from_le_bytes(*bytes)).ok());
    match insn.map(|insn| (insn.flow(), insn.exclusive())) {
        Some((Flow::Syscall, _)) => Class::Syscall,
        Some((_, Some(Exclusive::Load))) => Class::Exclusive,
        _ => Class::Plain,
    }
}
