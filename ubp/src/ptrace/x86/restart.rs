//! The restart of interrupted system calls.

use libc::user_regs_struct;

use super::call::BlockedCall;
use super::syscalls::result;
use crate::arch::USER32_CS;
use crate::memory::ProcessMemory;
use crate::{Result, Tid};

/// Results by which a system call asks the kernel to restart it (include/linux/errno.h): ERESTARTSYS, ERESTARTNOINTR,
/// ERESTARTNOHAND, ERESTART_RESTARTBLOCK.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];
/// `close` has closed the descriptor even where it returns `EINTR`.
const CLOSE_64: u64 = 3;
const CLOSE_32: u64 = 6;

/// Whether the thread is on its way out of a system call.
fn in_call(registers: &user_regs_struct) -> bool {
    (registers.orig_rax as i64) >= 0
}

/// Whether the thread is on its way out of a system call that the kernel restarts.
pub(in crate::ptrace) fn asks_for_restart(registers: &user_regs_struct) -> bool {
    in_call(registers) && RESTARTS.contains(&result(registers))
}

/// Whether a system call returned `EINTR` and may be made once more.
pub(in crate::ptrace) fn returned_eintr(registers: &user_regs_struct, _: &ProcessMemory) -> bool {
    let close = if registers.cs == USER32_CS { CLOSE_32 } else { CLOSE_64 };
    in_call(registers) && result(registers) == -i64::from(libc::EINTR) && registers.orig_rax != close
}

/// Makes the thread repeat its last system call, as the kernel does (arch/x86/kernel/signal.c).
pub(in crate::ptrace) fn restart(_: Tid, registers: &mut user_regs_struct, _: Option<BlockedCall>) -> Result<()> {
    registers.rax = registers.orig_rax;
    registers.rip = registers.rip.wrapping_sub(2);
    registers.orig_rax = u64::MAX;
    Ok(())
}

/// Whether the kernel decides about a restart, or about `EINTR`, by the place of the thread when a signal is delivered: no, by
/// the result alone.
pub(in crate::ptrace) const DECIDED_IN_PLACE: bool = false;

/// The address of the saved pc in the frame of a signal handler, for a thread at the handler's first instruction. Used where
/// [`DECIDED_IN_PLACE`].
pub(in crate::ptrace) fn frame_pc(_: &user_regs_struct) -> Option<u64> {
    None
}
