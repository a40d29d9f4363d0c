//! The code that handles `SIGTRAP` when the tracer is gone.

use std::arch::global_asm;

use crate::Arch;
use crate::ptrace::space::page::HandlerCode;

global_asm!(include_str!("trap_handler.s"), options(raw));

/// `rt_sigaction` (asm-generic/unistd.h).
const RT_SIGACTION: u64 = 134;

/// The code for programs of an architecture. Handlers return by the vdso.
pub(in crate::ptrace) fn handler_code(_: Arch) -> HandlerCode {
    unsafe extern "C" {
        static ubp_trap_handler: u8;
        static ubp_trap_handler_end: u8;
    }
    let start = &raw const ubp_trap_handler;
    let length = (&raw const ubp_trap_handler_end).addr() - start.addr();
    // SAFETY: the assembly that is part of this file defines all bytes between the two symbols, in constant memory.
    let code = unsafe { std::slice::from_raw_parts(start, length) };
    HandlerCode { code, of_jumps: None, restorer: None, gate: None, sigaction: RT_SIGACTION }
}
