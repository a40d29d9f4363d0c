//! Jumps of A64: branches, each in the place of one instruction.

mod covering;
mod head;
mod link;
mod made;
mod workbench;

pub(in crate::ptrace) use trampoline::arm64::Place;

pub(in crate::ptrace) use self::covering::Covering;
pub(in crate::ptrace) use self::head::Head;
pub(in crate::ptrace) use self::link::Link;
pub(in crate::ptrace) use self::made::Trampoline;
pub(in crate::ptrace) use self::workbench::{Draft, Workbench, fixups, place};

/// Bytes of a jump.
pub(in crate::ptrace) const LENGTH: u64 = insn::arm64::LEN as u64;
/// Bytes of code from a site on that a trampoline runs.
pub(in crate::ptrace) const KEPT: usize = insn::arm64::LEN;
/// Whether threads that the handler in the debuggee answers when the tracer is gone pass the site of a jump by its slot: no thread traps at a jump.
pub(in crate::ptrace) const ANSWERED: bool = false;
/// Whether the code of a jump counts, and does nothing else.
pub(in crate::ptrace) const ONLY_COUNTS: bool = true;
