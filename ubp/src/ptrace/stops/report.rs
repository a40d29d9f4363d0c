//! The meaning of a report.

use super::super::Tracer;
use super::super::event_stop::note_key;
use super::super::sys::{self, PTRACE_EVENT_STOP, Report, SYSCALL_STOP, is_gone};
use super::super::thread::Stop;
use super::Next;
use super::clone::on_clone;
use super::end::on_end;
use super::exec::on_exec;
use super::interruption::on_interruption;
use super::jump::on_jump;
use super::signal::on_signal;
use super::syscall::on_syscall;
use super::trap::on_trap;
use crate::{EventKind, Result, Signal, Tid};

/// Looks at a report, and decides how the thread continues.
pub(in crate::ptrace) fn on_report(tracer: &mut Tracer, tid: Tid, report: Report) -> Result<Next> {
    let (signal, event) = match report {
        Report::Exited(code) => return on_end(tracer, tid, EventKind::Exited(code)).map(|()| Next::Stay),
        Report::Killed(signal) => return on_end(tracer, tid, EventKind::Killed(Signal(signal))).map(|()| Next::Stay),
        Report::Stopped { signal, event } => (signal, event),
    };
    match event {
        libc::PTRACE_EVENT_EXEC => on_exec(tracer, tid),
        PTRACE_EVENT_STOP => on_interruption(tracer, tid, signal),
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
            tracer.tracees.set_stop(tid, Stop::InSyscall)?;
            on_clone(tracer, tid, event)
        }
        libc::PTRACE_EVENT_VFORK_DONE => {
            tracer.tracees.set_stop(tid, Stop::InSyscall)?;
            tracer.tracees.thread_mut(tid)?.vforking = false;
            note_key(&mut tracer.tracees, tid)?;
            let is_told = tracer.tracees.options.vforks && !tracer.tracees.is_silent(tid);
            Ok(if is_told { Next::Hold(EventKind::VforkDone) } else { Next::GoOn })
        }
        0 if signal == SYSCALL_STOP => {
            tracer.tracees.set_stop(tid, Stop::Syscall)?;
            on_syscall(tracer, tid)
        }
        0 => on_delivery(tracer, tid),
        _ => {
            tracer.tracees.set_stop(tid, Stop::InSyscall)?;
            Ok(Next::GoOn)
        }
    }
}

/// Handles a signal-delivery-stop.
fn on_delivery(tracer: &mut Tracer, tid: Tid) -> Result<Next> {
    let info = match sys::siginfo(tid) {
        Ok(info) => info,
        Err(error) if is_gone(&error) => return Err(error),
        Err(_) => {
            // The stop delivers no signal after all.
            tracer.tracees.set_stop(tid, Stop::Event)?;
            return Ok(Next::GoOn);
        }
    };
    tracer.tracees.set_stop(tid, Stop::Signal(info))?;
    if let Some(next) = on_jump(&mut tracer.tracees, &mut tracer.reports, tid, info)? {
        return Ok(next);
    }
    let info = match tracer.tracees.thread(tid)?.stop() {
        Some(Stop::Signal(info)) => info,
        _ => info,
    };
    if info.signal() == libc::SIGTRAP { on_trap(tracer, tid, info) } else { on_signal(&mut tracer.tracees, tid, info) }
}
