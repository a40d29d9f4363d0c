//! System calls: how a thread makes one, and what it does in one.

use libc::user_regs_struct;

use super::registers::BTYPE;
use crate::arch::BREAKPOINT;
use crate::memory::ProcessMemory;
use crate::ptrace::remote::numbers::Calls;
use crate::ptrace::sys;
use crate::{Arch, Result, Tid};

/// `svc #0`
pub(super) const SVC: [u8; 4] = 0xd400_0001_u32.to_le_bytes();
/// The length of the instruction that enters the kernel.
pub(in crate::ptrace) const ENTERS: u64 = SVC.len() as u64;
/// Whether a syscall-stop hides a register of the thread: x7 shows entry or exit, and writes to it are lost
/// (arch/arm64/kernel/ptrace.c, `report_syscall`).
pub(in crate::ptrace) const CALLS_HIDE_REGISTERS: bool = true;

/// The number of the system call that a thread is in (linux/elf.h).
pub(super) const NT_ARM_SYSTEM_CALL: i32 = 0x404;
/// The number that means no system call.
pub(super) const NO_CALL: i32 = -1;

/// Numbers of system calls (asm-generic/unistd.h).
const CLOSE: u64 = 57;
const RESTART_SYSCALL: u64 = 128;
const RT_SIGRETURN: u64 = 139;
const MUNMAP: u64 = 215;
const CLONE: u64 = 220;
const MMAP: u64 = 222;
const MPROTECT: u64 = 226;
const MEMFD_CREATE: u64 = 279;
const PKEY_MPROTECT: u64 = 288;
const CLONE3: u64 = 435;

/// The code in an arena's header: an instruction that enters the kernel, and a breakpoint instruction behind it.
pub(in crate::ptrace) fn gate(_: Arch) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (SVC, BREAKPOINT);
    [a, b, c, d, e, f, g, h]
}

pub(in crate::ptrace) fn calls(_: Arch) -> Calls {
    Calls { mmap: MMAP, munmap: MUNMAP, memfd_create: MEMFD_CREATE, close: CLOSE }
}

/// Sets the registers for a system call at `gate`.
pub(in crate::ptrace) fn to_call(
    registers: &mut user_regs_struct,
    _: Arch,
    gate: u64,
    number: u64,
    arguments: [u64; 6],
) {
    registers.pc = gate;
    registers.pstate &= !BTYPE;
    registers.regs[8] = number;
    for (place, value) in registers.regs.iter_mut().zip(arguments) {
        *place = value;
    }
}

/// The result of a system call.
pub(in crate::ptrace) fn result(registers: &user_regs_struct) -> i64 {
    registers.regs[0] as i64
}

/// The number of `restart_syscall`, by which the kernel continues a call whose arguments have changed, such as a sleep.
pub(in crate::ptrace) fn restart_number(_: Arch) -> u64 {
    RESTART_SYSCALL
}

/// Makes the kernel skip the system call at whose beginning the thread is.
pub(in crate::ptrace) fn skip_call(tid: Tid, _: &user_regs_struct) -> Result<()> {
    sys::set_register_set(tid, NT_ARM_SYSTEM_CALL, &NO_CALL.to_ne_bytes())
}

/// Changes the registers of a thread that has skipped a system call to those before the call. `entered`: at its beginning.
pub(in crate::ptrace) fn call_again(registers: &mut user_regs_struct, entered: &user_regs_struct) {
    registers.regs[0] = entered.regs[0];
    registers.pc = registers.pc.wrapping_sub(ENTERS);
}

/// Whether the system call at whose beginning the thread is returns from a signal handler.
pub(in crate::ptrace) fn is_return(registers: &user_regs_struct) -> bool {
    registers.regs[8] == RT_SIGRETURN
}

/// Whether a system call that the thread's next instruction makes would return from a signal handler.
pub(in crate::ptrace) fn may_return(registers: &user_regs_struct) -> bool {
    is_return(registers)
}

/// Whether a system call that just ended mapped code.
pub(in crate::ptrace) fn maps_code(registers: &user_regs_struct) -> bool {
    let failed = (-4095..0).contains(&result(registers));
    let maps = matches!(registers.regs[8], MMAP | MPROTECT | PKEY_MPROTECT);
    maps && !failed && registers.regs[2] & libc::PROT_EXEC as u64 != 0
}

/// Whether the call that a thread is in makes a process that shares its memory.
pub(in crate::ptrace) fn shares_memory(registers: &user_regs_struct, memory: &ProcessMemory) -> bool {
    let flags = match registers.regs[8] {
        CLONE => registers.regs[0],
        // The first word of its structure.
        CLONE3 => memory.read_word(registers.regs[0], 8).unwrap_or(0),
        _ => 0,
    };
    flags & libc::CLONE_VM as u64 != 0
}
