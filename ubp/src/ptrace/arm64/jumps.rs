//! Jumps at sites: there are none.

use insn::x86::Mode;
use trampoline::x86::Place;

use crate::memory::ProcessMemory;
use crate::{Arch, Result, Tid};

/// How the processor reads the code of programs that can have jumps: no program can.
pub(in crate::ptrace) fn jump_mode(_: Arch) -> Option<Mode> {
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
