//! The processor's traps.

use insn::arm64::Insn;
use libc::user_regs_struct;

use super::control_stack;
use crate::Tid;
use crate::memory::ProcessMemory;
use crate::ptrace::before::Before;
use crate::ptrace::sys::{SigInfo, TRAP_TRACE};

/// `si_code` of `brk` (asm-generic/siginfo.h).
const TRAP_BRKPT: i32 = 1;

/// Whether a `SIGTRAP` comes from a breakpoint instruction.
pub(in crate::ptrace) fn is_breakpoint(info: &SigInfo) -> bool {
    info.si_code() == TRAP_BRKPT
}

/// Whether a step raised a `SIGTRAP`.
pub(in crate::ptrace) fn is_single_step(info: &SigInfo, _: impl FnOnce() -> Option<u8>) -> bool {
    info.signal() == libc::SIGTRAP && info.si_code() == TRAP_TRACE
}

/// Whether the program single-steps itself: never, it cannot.
pub(in crate::ptrace) fn traces(_: &user_regs_struct) -> bool {
    false
}

/// Whether a thread has a stack that only calls write. No code of a slot makes calls.
pub(in crate::ptrace) fn has_shadow_stack(_: Tid) -> bool {
    false
}

/// Does nothing: no instruction stores what ptrace sets for a step.
pub(in crate::ptrace) fn hide_step(
    _: Tid,
    _: &Before,
    _: &mut user_regs_struct,
    _: impl FnOnce() -> Option<Insn>,
) -> bool {
    false
}

/// Whether the kernel takes the trap flag of the next step for the program's: never, no program has one.
pub(in crate::ptrace) fn owns_trap_flag(_: &Before, _: &user_regs_struct, _: impl FnOnce() -> Option<Insn>) -> bool {
    false
}

/// Does nothing: a call that faults leaves nothing in memory.
pub(in crate::ptrace) fn correct_faulted_call(_: Tid, _: &user_regs_struct, _: u64, _: u64, _: u8) {}

/// Replaces the return address that a call in the slot at `slot` left by `next`.
pub(in crate::ptrace) fn correct_return_address(
    tid: Tid,
    registers: &mut user_regs_struct,
    memory: &ProcessMemory,
    slot: u64,
    next: u64,
    _: u8,
) {
    registers.regs[30] = next;
    control_stack::correct(tid, memory, slot, next);
}
