//! Syscall-stops: of the dynamic loader, of threads in a signal handler that interrupted an instruction at a site, and of threads
//! whose system calls the user wants to know about.

use libc::user_regs_struct;

use super::super::Tracer;
use super::super::arch;
use super::super::breakpoints::loader::look_at_mapped;
use super::super::sys;
use super::super::thread::{Due, Interrupted, Stop};
use super::Next;
use super::stepped::{go_on_unless_stepped, note_stepped};
use super::syscall_events::{on_entered, on_returned};
use super::tell::tell_first;
use crate::arch::{pc as pc_of, sp as sp_of};
use crate::{Result, Tid};

/// `PTRACE_EVENTMSG_SYSCALL_ENTRY` (linux/ptrace.h).
const ENTRY: u64 = 1;

/// Handles a syscall-enter-stop or a syscall-exit-stop.
pub(super) fn on_syscall(tracer: &mut Tracer, tid: Tid) -> Result<Next> {
    let is_entry = sys::event_message(tid)? == ENTRY;
    let registers = arch::read(tid)?;
    let tracees = &mut tracer.tracees;
    if is_entry {
        tracees.set_stop(tid, Stop::InSyscall)?;
        tracees.thread_mut(tid)?.handlers.begin_call(arch::is_return(&registers));
        return on_entered(tracees, tid);
    }
    let returned = on_returned(tracees, tid)?;
    let next = on_exit(tracer, tid, &registers)?;
    tell_first(&mut tracer.tracees, tid, returned, next)
}

/// Handles a syscall-exit-stop for the tracer itself.
fn on_exit(tracer: &mut Tracer, tid: Tid, registers: &user_regs_struct) -> Result<Next> {
    let thread = tracer.tracees.thread_mut(tid)?;
    if thread.handlers.end_call() {
        let back = Interrupted { site: pc_of(registers), sp: sp_of(registers) };
        if thread.handlers.return_to(back) {
            // The hit was counted before the signal.
            thread.reported_at = Some(back.site);
            if thread.is_in_call() {
                return Ok(Next::LeaveCall(None));
            }
        }
        return go_on_unless_stepped(&tracer.tracees, tid);
    }
    if thread.loading && arch::maps_code(registers) {
        if thread.is_in_call() {
            return Ok(Next::LeaveCall(Some(Due::Mapped)));
        }
        return on_mapped(tracer, tid);
    }
    go_on_unless_stepped(&tracer.tracees, tid)
}

/// The loader mapped code, or made mapped memory executable; the thread has left the system call.
pub(super) fn on_mapped(tracer: &mut Tracer, tid: Tid) -> Result<Next> {
    if let Some(change) = look_at_mapped(&mut tracer.tracees, &mut tracer.reports, tid)? {
        note_stepped(&mut tracer.tracees, tid)?;
        return Ok(Next::Hold(change));
    }
    go_on_unless_stepped(&tracer.tracees, tid)
}
