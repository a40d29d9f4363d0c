//! The frame on a thread's stack while the thread makes a system call for the tracer. The code behind the call reads it.

use libc::user_regs_struct;

use super::restart::asks_for_restart;
use super::shadow_stack;
use super::syscalls::{ENTERS, result};
use crate::{Arch, Tid};

/// Bytes below the stack pointer that belong to the function that runs (System V ABI for x86-64, 3.2.2); the code in trap_handler_64.s
/// knows them.
const RED_ZONE: u64 = 128;
/// ERESTART_RESTARTBLOCK (include/linux/errno.h), and `restart_syscall` (asm/unistd_64.h, asm/unistd_32.h).
const RESTART_BLOCK: i64 = -516;
const RESTART_SYSCALL: (u64, u64) = (219, 0);

/// Moves the stack pointer of a stopped thread to the frame, and returns the frame's bytes: the signal mask and the registers, as
/// the gate of trap_handler_64.s and trap_handler_32.s takes them. `None`: the thread has a shadow stack, which forbids such a return.
pub(in crate::ptrace) fn way_back(
    tid: Tid,
    registers: &mut user_regs_struct,
    arch: Arch,
    mask: u64,
) -> Option<Vec<u8>> {
    if shadow_stack::pointer(tid).is_some() {
        return None;
    }
    let mut back = *registers;
    if asks_for_restart(&back) {
        // The kernel does the same where no handler runs (arch/x86/kernel/signal.c, `arch_do_signal_or_restart`).
        let by_number = if arch == Arch::I386 { RESTART_SYSCALL.1 } else { RESTART_SYSCALL.0 };
        back.rax = if result(&back) == RESTART_BLOCK { by_number } else { back.orig_rax };
        back.rip = back.rip.wrapping_sub(ENTERS);
    }
    let mut frame = mask.to_le_bytes().to_vec();
    if arch == Arch::I386 {
        let words = [back.rdi, back.rsi, back.rbp, 0, back.rbx, back.rdx, back.rcx, back.rax, back.eflags, back.rip];
        frame.extend(words.iter().flat_map(|word| (*word as u32).to_le_bytes()));
        registers.rsp = u64::from((back.rsp as u32).wrapping_sub(frame.len() as u32));
    } else {
        let [r8, r9, r10, r11] = [back.r8, back.r9, back.r10, back.r11];
        let [r12, r13, r14, r15] = [back.r12, back.r13, back.r14, back.r15];
        let low = [back.rax, back.rbx, back.rcx, back.rdx, back.rsi, back.rdi, back.rbp];
        let words = low.into_iter().chain([r8, r9, r10, r11, r12, r13, r14, r15, back.eflags, back.rip]);
        frame.extend(words.flat_map(u64::to_le_bytes));
        registers.rsp = back.rsp.wrapping_sub(RED_ZONE + frame.len() as u64);
    }
    Some(frame)
}
