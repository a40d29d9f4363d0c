//! System calls that were interrupted, and how they are made again.
//!
//! Where a signal or an interruption stops a thread on its way out of a system call that is to be restarted, the kernel has put the
//! thread back to the `svc` already, with its first argument in x0 (arch/arm64/kernel/signal.c, `do_signal`).

use libc::user_regs_struct;

use super::call::BlockedCall;
use super::syscalls::{ENTERS, SVC, result};
use crate::memory::ProcessMemory;
use crate::ptrace::sys;
use crate::{Result, Tid};

/// The number of the system call that a thread is in (linux/elf.h).
const NT_ARM_SYSTEM_CALL: i32 = 0x404;
/// In no system call.
const NONE: i32 = -1;
/// `close` is done even where it says `EINTR` (asm-generic/unistd.h).
const CLOSE: u64 = 57;

/// Whether the kernel will make the system call again that the thread is on its way out of, which is not there yet.
pub(in crate::ptrace) fn asks_for_restart(_: &user_regs_struct) -> bool {
    false
}

/// Whether a system call ended with `EINTR` and may be made again. That the thread made none since, but returned to this place from
/// a signal handler, nothing tells.
pub(in crate::ptrace) fn returned_eintr(registers: &user_regs_struct, memory: &ProcessMemory) -> bool {
    result(registers) == -i64::from(libc::EINTR)
        && registers.regs[8] != CLOSE
        && memory.read_array(registers.pc.wrapping_sub(ENTERS)) == Some(SVC)
}

/// Makes the system call again that the thread just made, if its first argument can be had: of the call in which it was known to
/// block, or of the kernel.
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

/// The first argument of the last system call, of which x0 has the result. The kernel keeps it, and shows it where it takes the
/// thread to be in a system call; newer ones (6.12.117 is one) put x0 in its place then.
fn first_argument(tid: Tid) -> Result<Option<u64>> {
    sys::set_register_set(tid, NT_ARM_SYSTEM_CALL, &0_i32.to_ne_bytes())?;
    let shown = std::fs::read_to_string(format!("/proc/{tid}/syscall"));
    sys::set_register_set(tid, NT_ARM_SYSTEM_CALL, &NONE.to_ne_bytes())?;
    Ok(shown.ok().and_then(|shown| parse(&shown)))
}

/// The first argument in a line of /proc/PID/syscall (proc_pid_syscall(5)).
fn parse(shown: &str) -> Option<u64> {
    let mut fields = shown.split_ascii_whitespace();
    fields.next()?.parse::<u32>().ok()?;
    u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok()
}

/// Whether the kernel only restarts a call, and only lets it end with `EINTR`, where the thread still stands where it left it when
/// the signal is delivered.
pub(in crate::ptrace) const DECIDED_IN_PLACE: bool = true;

/// Where the frame of a signal handler at whose beginning a thread stands keeps the pc. Asked for where [`DECIDED_IN_PLACE`].
///
/// `struct rt_sigframe` lies at sp: the 128 bytes of `siginfo`, then `struct ucontext`, of which the registers begin at 176, behind
/// the address of a fault (arch/arm64/kernel/signal.c, include/uapi/asm/ucontext.h and sigcontext.h).
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
