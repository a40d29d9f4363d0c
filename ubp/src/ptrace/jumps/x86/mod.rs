//! Jumps of x86. They cover several instructions, and lead to their trampolines by a mirror.

mod covering;
mod entered;
mod head;
mod mirror;
mod places;
mod room;

pub(in crate::ptrace) use trampoline::x86::{Place, Trampoline};

pub(in crate::ptrace) use self::covering::Covering;
pub(in crate::ptrace) use self::head::Head;
pub(in crate::ptrace) use self::mirror::Mirror as Link;
pub(in crate::ptrace) use self::places::fixups;
pub(in crate::ptrace) use self::places::place;
pub(in crate::ptrace) use super::code::LENGTH;
pub(in crate::ptrace) use super::code::scan::KEPT;
pub(in crate::ptrace) use super::code::workbench::{Draft, Workbench};

/// Whether threads that the handler in the debuggee answers when the tracer is gone pass the site of a jump by its slot.
pub(in crate::ptrace) const ANSWERED: bool = true;
/// Whether the code of a jump counts, and does nothing else.
pub(in crate::ptrace) const ONLY_COUNTS: bool = false;
