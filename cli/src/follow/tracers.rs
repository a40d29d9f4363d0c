//! Debuggees that are tracers themselves: strace, gdb, programs that protect themselves from debuggers.
//!
//! A thread can have one tracer, and over ptrace ntrace is that tracer. The request of such a program fails, and this module says why.

use nix::libc;
use ubp::{Mechanism, Pid, Session, Tid};
use ubp_symbols::Module;

use super::told::Told;
use crate::launch::named;
use crate::native;

// The requests of ptrace(2) that make a process a tracer.
const TRACEME: u64 = libc::PTRACE_TRACEME as u64;
const ATTACH: u64 = libc::PTRACE_ATTACH as u64;
const SEIZE: u64 = libc::PTRACE_SEIZE as u64;

/// The key of the message, which is printed once.
const KEY: &str = "ptrace";

/// Whether the message was printed.
pub(super) fn was_told(told: &Told) -> bool {
    told.contains(KEY)
}

/// Returns the address in memory of the C library's `ptrace` in a module, if a hit of it has something to report.
pub(super) fn ptrace_in(session: &Session, module: &Module, told: &Told) -> Option<u64> {
    if session.mechanism() != Mechanism::Ptrace || was_told(told) {
        return None;
    }
    module.image.exported("ptrace").map(|address| module.in_memory(address))
}

/// Reports that a request will fail. A thread has called `ptrace`.
pub(super) fn tell_of_ptrace(session: &mut Session, pid: Pid, tid: Tid, told: &mut Told) -> ubp::Result<()> {
    let registers = session.registers(tid)?;
    let arguments = native::arguments(session, pid, &registers);
    let (Some(request), Some(&other)) = (arguments.first(), arguments.get(1)) else { return Ok(()) };
    // Both arguments have 32 bits; the upper halves of the registers are undefined.
    let (request, other) = (request & 0xffff_ffff, Tid(other as i32));
    let is_traced = |tid| session.processes().any(|process| process.threads().any(|thread| thread == tid));
    let process = named(pid.0);
    let what = match request {
        TRACEME => format!("{process} asks its parent to trace it"),
        ATTACH | SEIZE if is_traced(other) => format!("{process} asks to trace {}", named(other.0)),
        _ => return Ok(()),
    };
    told.tell_once(
        KEY,
        format_args!(
            "{what}, which fails: ntrace already traces that process, and a process can have one tracer. With --no-follow ntrace \
             does not trace children; with --backend kernel ntrace does not use ptrace"
        ),
    );
    Ok(())
}
