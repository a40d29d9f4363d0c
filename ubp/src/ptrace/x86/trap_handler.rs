//! The code that handles signals of breakpoints when the tracer is gone, and the gate for system calls of the tracer's.

use std::arch::global_asm;

use crate::Arch;
use crate::ptrace::space::page::HandlerCode;

global_asm!(include_str!("trap_handler_64.s"), options(att_syntax, raw));
global_asm!(include_str!("trap_handler_32.s"), options(att_syntax, raw));

/// `rt_sigaction` (asm/unistd_64.h, asm/unistd_32.h).
const RT_SIGACTION: (u64, u64) = (13, 174);

macro_rules! handler {
    ($call:expr, $start:ident, $of_jumps:expr, $restorer:ident, $gate:ident, $end:ident) => {{
        unsafe extern "C" {
            static $start: u8;
            static $restorer: u8;
            static $gate: u8;
            static $end: u8;
        }
        let start = &raw const $start;
        let offset = |at: *const u8| at.addr() - start.addr();
        let length = offset(&raw const $end);
        // SAFETY: the assembly that is part of this file defines all bytes between the two symbols, in constant memory.
        let code = unsafe { std::slice::from_raw_parts(start, length) };
        let (restorer, gate) = (offset(&raw const $restorer), offset(&raw const $gate));
        HandlerCode {
            code,
            of_jumps: $of_jumps.map(|at: *const u8| offset(at) as u64),
            restorer: Some(restorer as u64),
            gate: Some(gate as u64),
            sigaction: $call,
        }
    }};
}

unsafe extern "C" {
    static ubp_trap_handler_64_of_jumps: u8;
}

/// The code for programs of an architecture.
pub(in crate::ptrace) fn handler_code(arch: Arch) -> HandlerCode {
    if arch == Arch::I386 {
        handler!(
            RT_SIGACTION.1,
            ubp_trap_handler_32,
            None,
            ubp_trap_handler_32_restorer,
            ubp_trap_handler_32_gate,
            ubp_trap_handler_32_end
        )
    } else {
        handler!(
            RT_SIGACTION.0,
            ubp_trap_handler_64,
            Some(&raw const ubp_trap_handler_64_of_jumps),
            ubp_trap_handler_64_restorer,
            ubp_trap_handler_64_gate,
            ubp_trap_handler_64_end
        )
    }
}
