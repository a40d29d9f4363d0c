//! Jumps at sites: there are none.

use insn::x86::Mode;
use trampoline::x86::{Place, Subject};

use crate::memory::ProcessMemory;
use crate::{Arch, Operand, Result, Tid};

/// How the processor reads code behind jumps: no program can have any.
pub(in crate::ptrace) fn jump_mode(_: Arch, _: crate::arch::Mode) -> Option<Mode> {
    None
}

/// The left side of a comparison in a trampoline: there are none.
pub(in crate::ptrace) fn test_subject(_: Operand, _: u64) -> Option<Subject> {
    None
}

/// Whether threads can have shadow stacks.
pub(in crate::ptrace) fn may_have_shadow_stacks() -> bool {
    false
}

/// Gives a stopped thread in a trampoline the registers that it has in the program: no thread is in one.
pub(in crate::ptrace) fn restore_at(_: Tid, _: &ProcessMemory, _: &Place) -> Result<bool> {
    Ok(false)
}
