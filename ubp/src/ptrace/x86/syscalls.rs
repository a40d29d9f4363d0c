//! System calls: how a thread makes one, and what it does in one.

use libc::user_regs_struct;

use crate::arch::USER32_CS;
use crate::memory::ProcessMemory;
use crate::ptrace::remote::numbers::Calls;
use crate::{Arch, Result, Tid};

/// `syscall; int3…`
const GATE_64: [u8; 8] = [0x0f, 0x05, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc];
/// `int $0x80; int3…`
const GATE_32: [u8; 8] = [0xcd, 0x80, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc];
/// The length of the instruction that enters the kernel.
pub(in crate::ptrace) const ENTERS: u64 = 2;
/// Whether a syscall-stop hides a register of the thread.
pub(in crate::ptrace) const CALLS_HIDE_REGISTERS: bool = false;

/// The code in an arena's header: an instruction that enters the kernel, and a breakpoint instruction behind it.
pub(in crate::ptrace) fn gate(arch: Arch) -> [u8; 8] {
    if arch == Arch::I386 { GATE_32 } else { GATE_64 }
}

/// The numbers of system calls (asm/unistd_64.h, asm/unistd_32.h).
pub(in crate::ptrace) fn calls(arch: Arch) -> Calls {
    if arch == Arch::I386 {
        Calls { mmap: 192, munmap: 91, memfd_create: 356, close: 6 }
    } else {
        Calls { mmap: 9, munmap: 11, memfd_create: 319, close: 3 }
    }
}

/// Sets the registers for a system call at `gate`.
pub(in crate::ptrace) fn to_call(
    registers: &mut user_regs_struct,
    arch: Arch,
    gate: u64,
    number: u64,
    arguments: [u64; 6],
) {
    let [a, b, c, d, e, f] = arguments;
    registers.rip = gate;
    registers.rax = number;
    registers.orig_rax = u64::MAX;
    if arch == Arch::I386 {
        (registers.rbx, registers.rcx, registers.rdx) = (a, b, c);
        (registers.rsi, registers.rdi, registers.rbp) = (d, e, f);
    } else {
        (registers.rdi, registers.rsi, registers.rdx) = (a, b, c);
        (registers.r10, registers.r8, registers.r9) = (d, e, f);
    }
}

/// The result of a system call; a 32-bit number in 32-bit programs.
pub(in crate::ptrace) fn result(registers: &user_regs_struct) -> i64 {
    if registers.cs == USER32_CS { i64::from(registers.rax as i32) } else { registers.rax as i64 }
}

/// The number of `restart_syscall`, by which the kernel continues a call whose arguments have changed, such as a sleep.
pub(in crate::ptrace) fn restart_number(arch: Arch) -> u64 {
    if arch == Arch::I386 { 0 } else { libc::SYS_restart_syscall as u64 }
}

/// Makes the kernel skip the system call at whose beginning the thread is.
pub(in crate::ptrace) fn skip_call(tid: Tid, registers: &user_regs_struct) -> Result<()> {
    super::write(tid, &user_regs_struct { orig_rax: u64::MAX, ..*registers })
}

/// Changes the registers of a thread that has skipped a system call to those before the call. `entered`: at its beginning.
pub(in crate::ptrace) fn call_again(registers: &mut user_regs_struct, entered: &user_regs_struct) {
    registers.rax = entered.orig_rax;
    registers.orig_rax = u64::MAX;
    registers.rip = registers.rip.wrapping_sub(ENTERS);
}

/// Whether the system call at whose beginning the thread is returns from a signal handler.
pub(in crate::ptrace) fn is_return(registers: &user_regs_struct) -> bool {
    match registers.cs {
        // sigreturn, rt_sigreturn
        USER32_CS => matches!(registers.orig_rax, 119 | 173),
        _ => registers.orig_rax == libc::SYS_rt_sigreturn as u64,
    }
}

/// Whether a system call that the thread's next instruction makes would return from a signal handler.
pub(in crate::ptrace) fn may_return(registers: &user_regs_struct) -> bool {
    is_return(&user_regs_struct { orig_rax: registers.rax, ..*registers })
}

/// Whether a system call that just ended mapped code.
pub(in crate::ptrace) fn maps_code(registers: &user_regs_struct) -> bool {
    // mmap, mprotect, pkey_mprotect; mmap, mmap2, mprotect, pkey_mprotect.
    let maps = match registers.cs {
        USER32_CS => matches!(registers.orig_rax, 90 | 192 | 125 | 380),
        _ => matches!(registers.orig_rax, 9 | 10 | 329),
    };
    let failed = registers.rax as i64 > -4096 && (registers.rax as i64) < 0;
    maps && !failed && registers.rdx & libc::PROT_EXEC as u64 != 0
}

/// Whether the call that a thread is in makes a process that shares its memory.
pub(in crate::ptrace) fn shares_memory(registers: &user_regs_struct, memory: &ProcessMemory) -> bool {
    let flags = match (registers.cs, registers.orig_rax) {
        // vfork
        (USER32_CS, 190) => return true,
        // clone
        (USER32_CS, 120) => registers.rbx,
        // clone3: the first word of its structure
        (USER32_CS, 435) => memory.read_word(registers.rbx, 8).unwrap_or(0),
        (USER32_CS, _) => 0,
        (_, 58) => return true,
        (_, 56) => registers.rdi,
        (_, 435) => memory.read_word(registers.rdi, 8).unwrap_or(0),
        _ => 0,
    };
    flags & libc::CLONE_VM as u64 != 0
}
