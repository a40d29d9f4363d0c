//! The restart of interrupted system calls.
//!
//! Where a signal or an interruption stops a thread on its way out of a call that the kernel restarts, the kernel has moved the
//! thread back to the `svc` already, with the first argument in x0 (arch/arm64/kernel/signal.c, `do_signal`).

use libc::user_regs_struct;

use super::call::BlockedCall;
use super::syscalls::{ENTERS, NO_CALL, NT_ARM_SYSTEM_CALL, SVC, result};
use crate::descriptors::open_by_reserve;
use crate::memory::ProcessMemory;
use crate::ptrace::sys;
use crate::{Result, Tid};

/// `close` has closed the descriptor even where it returns `EINTR` (asm-generic/unistd.h).
const CLOSE: u64 = 57;

/// Whether the thread is on its way out of a system call that the kernel is still to restart: never, it has been moved already.
pub(in crate::ptrace) fn asks_for_restart(_: &user_regs_struct) -> bool {
    false
}

/// Whether a system call returned `EINTR` and may be made once more. The tracer cannot tell this case from a return of a signal
/// handler to the same address.
pub(in crate::ptrace) fn returned_eintr(registers: &user_regs_struct, memory: &ProcessMemory) -> bool {
    result(registers) == -i64::from(libc::EINTR)
        && registers.regs[8] != CLOSE
        && memory.read_array(registers.pc.wrapping_sub(ENTERS)) == Some(SVC)
}

/// Makes the thread repeat its last system call, if the first argument is known: from the call in which the thread blocked, or
/// from the kernel.
pub(in crate::ptrace) fn restart(tid: Tid, registers: &mut user_regs_struct, known: Option<BlockedCall>) -> Result<()> {
    let result = registers.regs[0];
    let argument = match known.and_then(|call| call.first_argument(registers)) {
        Some(known) => Some(known),
        None => first_argument(tid)?.filter(|&argument| argument != result),
    };
    if let Some(argument) = argument {
        registers.regs[0] = argument;
        registers.pc = registers.pc.wrapping_sub(ENTERS);
    }
    Ok(())
}

/// The first argument of the last system call, whose result is in x0. The kernel keeps the argument, and shows it while the thread
/// counts as being in a system call. Newer kernels (6.12.117 is one) show x0 instead.
fn first_argument(tid: Tid) -> Result<Option<u64>> {
    sys::set_register_set(tid, NT_ARM_SYSTEM_CALL, &0_i32.to_ne_bytes())?;
    let shown = open_by_reserve(|| std::fs::read_to_string(format!("/proc/{tid}/syscall")));
    sys::set_register_set(tid, NT_ARM_SYSTEM_CALL, &NO_CALL.to_ne_bytes())?;
    Ok(shown.ok().and_then(|shown| parse(&shown)))
}

/// The first argument in a line of /proc/PID/syscall (proc_pid_syscall(5)).
fn parse(shown: &str) -> Option<u64> {
    let mut fields = shown.split_ascii_whitespace();
    fields.next()?.parse::<u32>().ok()?;
    u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok()
}

/// Whether the kernel decides about a restart, or about `EINTR`, by the place of the thread when a signal is delivered: yes, the
/// thread must be where the kernel left it.
pub(in crate::ptrace) const DECIDED_IN_PLACE: bool = true;

/// The address of the saved pc in the frame of a signal handler, for a thread at the handler's first instruction. Used where
/// [`DECIDED_IN_PLACE`].
///
/// `struct rt_sigframe` lies at sp: the 128 bytes of `siginfo`, then `struct ucontext`. Its `struct sigcontext` begins at 176 with
/// the address of a fault, and the registers follow (arch/arm64/kernel/signal.c, include/uapi/asm/ucontext.h and sigcontext.h).
pub(in crate::ptrace) fn frame_pc(registers: &user_regs_struct) -> Option<u64> {
    const PC: u64 = 128 + 176 + 8 + 8 * 32;
    Some(registers.sp.wrapping_add(PC))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_first_argument_stands_behind_the_number_of_a_call() {
        assert_eq!(parse("22 0x5 0x7fff 0x1 0xffffffffffffffff 0x0 0x8 0x7ff0 0x8000\n"), Some(5));
        for none in ["running\n", "-1 0x7ff0 0x8000\n", ""] {
            assert_eq!(parse(none), None);
        }
    }
}
