//! System calls that were interrupted, and how they are made again.

use libc::user_regs_struct;

use super::call::BlockedCall;
use super::syscalls::result;
use crate::arch::USER32_CS;
use crate::memory::ProcessMemory;
use crate::{Result, Tid};

/// Results by which a system call asks the kernel to restart it (include/linux/errno.h): ERESTARTSYS, ERESTARTNOINTR,
/// ERESTARTNOHAND, ERESTART_RESTARTBLOCK.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];
/// `close` is done even where it says `EINTR`.
const CLOSE_64: u64 = 3;
const CLOSE_32: u64 = 6;

/// Whether the thread is on its way out of a system call.
fn in_call(registers: &user_regs_struct) -> bool {
    (registers.orig_rax as i64) >= 0
}

/// Whether the kernel will make the system call again that the thread is on its way out of.
pub(in crate::ptrace) fn asks_for_restart(registers: &user_regs_struct) -> bool {
    in_call(registers) && RESTARTS.contains(&result(registers))
}

/// Whether a system call ended with `EINTR` and may be made again.
pub(in crate::ptrace) fn returned_eintr(registers: &user_regs_struct, _: &ProcessMemory) -> bool {
    let close = if registers.cs == USER32_CS { CLOSE_32 } else { CLOSE_64 };
    in_call(registers) && result(registers) == -i64::from(libc::EINTR) && registers.orig_rax != close
}

/// Makes the system call again that the thread just made, as the kernel itself does (arch/x86/kernel/signal.c).
pub(in crate::ptrace) fn restart(_: Tid, registers: &mut user_regs_struct, _: Option<BlockedCall>) -> Result<()> {
    registers.rax = registers.orig_rax;
    registers.rip = registers.rip.wrapping_sub(2);
    registers.orig_rax = u64::MAX;
    Ok(())
}

/// Whether the kernel only restarts a call, and only lets it end with `EINTR`, where the thread still stands where it left it when
/// the signal is delivered: it goes by the result alone.
pub(in crate::ptrace) const DECIDED_IN_PLACE: bool = false;

/// Where the frame of a signal handler at whose beginning a thread stands keeps the pc. Asked for where
/// [`DECIDED_IN_PLACE`].
pub(in crate::ptrace) fn frame_pc(_: &user_regs_struct) -> Option<u64> {
    None
}
