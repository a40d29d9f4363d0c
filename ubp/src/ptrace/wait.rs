//! How the tracer waits for the reports of its tracees (waitid(2), wait4(2)).
//!
//! These calls alone tell of a ptrace-stop whatever the process does with `SIGCHLD`, which it may block, ignore or handle. With
//! `__WCLONE` and without `__WALL` a wait for any child sees the tracees of the calling thread, and no other child that reports
//! by `SIGCHLD`: `eligible_child` in kernel/exit.c lets a tracee pass whatever the flags are.

use std::io;

use libc::c_int;

use super::sys::{self, PTRACE_EVENT_STOP, Report, SYSCALL_STOP, is_gone};
use crate::{Error, Result, Tid};

/// The flags of a wait for any tracee of the calling thread.
const OWN_TRACEES: c_int = libc::__WCLONE | libc::__WNOTHREAD;

/// What a look at all tracees found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A thread that has a report, and the signal by which alone it is stopped; 0: it reports something else.
    Report(Tid, c_int),
    /// No thread has a report now.
    Nothing,
    /// There is no tracee.
    NoTracee,
}

impl Found {
    /// `None`: no thread has a report now.
    pub(super) fn some(self) -> Option<Found> {
        (self != Found::Nothing).then_some(self)
    }
}

/// The report that a wait status (`WIFSTOPPED` and others) describes.
fn of_status(status: c_int) -> Option<Report> {
    if libc::WIFSTOPPED(status) {
        Some(Report::Stopped { signal: libc::WSTOPSIG(status), event: status >> 16 })
    } else if libc::WIFEXITED(status) {
        Some(Report::Exited(libc::WEXITSTATUS(status)))
    } else if libc::WIFSIGNALED(status) {
        Some(Report::Killed(libc::WTERMSIG(status)))
    } else {
        None
    }
}

/// Takes the report of one thread. `None`: there is none now, or a signal handler ended the wait.
pub(super) fn wait_for(tid: Tid, block: bool) -> Result<Option<Report>> {
    let flags = libc::__WALL | if block { 0 } else { libc::WNOHANG };
    let mut status = 0;
    // SAFETY: `status` is a live integer.
    match unsafe { libc::waitpid(tid.0, &mut status, flags) } {
        0 => Ok(None),
        -1 => failed("waitpid", tid.0).map(|()| None),
        _ => Ok(of_status(status)),
    }
}

/// Takes the report of one thread, which should run, also if another thread of this process has taken it. `None`: there is none
/// now.
pub(super) fn find_report(tid: Tid) -> Result<Option<Report>> {
    if let Some(report) = wait_for(tid, false)? {
        return Ok(Some(report));
    }
    let Some(stop) = lost_stop(tid) else { return Ok(None) };
    // The thread may have stopped just now.
    Ok(Some(wait_for(tid, false)?.unwrap_or(stop)))
}

/// The stop that a thread is in, as its information tells. `None`: the thread runs, or is gone.
pub(super) fn lost_stop(tid: Tid) -> Option<Report> {
    match sys::siginfo(tid) {
        Ok(info) => Some(match info.si_code() {
            SYSCALL_STOP => Report::Stopped { signal: SYSCALL_STOP, event: 0 },
            code if code >> 8 != 0 && code & 0xff == libc::SIGTRAP => {
                Report::Stopped { signal: libc::SIGTRAP, event: code >> 8 }
            }
            _ => Report::Stopped { signal: info.signal(), event: 0 },
        }),
        Err(error) if is_gone(&error) => None,
        // A group-stop has no information.
        Err(_) => Some(Report::Stopped { signal: libc::SIGSTOP, event: PTRACE_EVENT_STOP }),
    }
}

/// The result of a wait that failed. A signal handler that ran is no failure.
fn failed(call: &'static str, id: i32) -> Result<()> {
    let source = io::Error::last_os_error();
    match source.raw_os_error() {
        Some(libc::EINTR) => Ok(()),
        Some(libc::ECHILD) => Err(Error::NoSuchThread(Tid(id))),
        _ => Err(Error::System { call, id, source }),
    }
}

/// Takes the stop of any tracee of this thread that is stopped, and no end.
pub(super) fn take_stop() -> Result<Option<(Tid, Report)>> {
    // WCONTINUED would take the notice of SIGCONT from the parents of debuggees.
    let flags = libc::WSTOPPED | libc::WNOHANG | OWN_TRACEES;
    match wait_id(libc::P_ALL, 0, flags) {
        Ok(Some(info)) if info.code == libc::CLD_TRAPPED => {
            Ok(Some((info.tid, Report::Stopped { signal: info.status & 0xff, event: info.status >> 8 })))
        }
        Ok(_) | Err(Error::NoSuchThread(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Looks for a tracee of this thread with a report, and leaves the report. Where `block`, waits for one, or until a signal handler
/// has run.
pub(super) fn peek_any(block: bool) -> Result<Found> {
    peek_all(OWN_TRACEES, block)
}

/// Looks for a tracee of any thread of this process with a report, and leaves the report.
pub(super) fn peek_process(block: bool) -> Result<Found> {
    peek_all(libc::__WCLONE, block)
}

fn peek_all(more: c_int, block: bool) -> Result<Found> {
    match peek_by(libc::P_ALL, 0, more, block) {
        Ok(Some((tid, signal))) => Ok(Found::Report(tid, signal)),
        Ok(None) => Ok(Found::Nothing),
        Err(Error::NoSuchThread(_)) => Ok(Found::NoTracee),
        Err(error) => Err(error),
    }
}

/// Looks for a report of one thread, and leaves the report. Returns the signal by which alone the thread is stopped; 0: it reports
/// something else.
pub(super) fn peek(tid: Tid, block: bool) -> Result<Option<c_int>> {
    Ok(peek_by(libc::P_PID, tid.0, libc::__WALL, block)?.map(|(_, signal)| signal))
}

fn peek_by(kind: libc::idtype_t, id: i32, more: c_int, block: bool) -> Result<Option<(Tid, c_int)>> {
    let flags = libc::WEXITED | libc::WNOWAIT | more | if block { 0 } else { libc::WNOHANG };
    let found = wait_id(kind, id, flags)?;
    Ok(found.map(|info| (info.tid, if info.code == libc::CLD_TRAPPED { info.status } else { 0 })))
}

/// Takes the report of a thread's end, if the thread has ended, and no other report.
pub(super) fn take_end(tid: Tid) -> bool {
    let wait = |flags| {
        // The kernel reports stops of tracees whatever the flags ask for (`wait_task_stopped` in kernel/exit.c).
        let is_end = |code| matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
        matches!(wait_id(libc::P_PID, tid.0, flags), Ok(Some(info)) if info.tid == tid && is_end(info.code))
    };
    let flags = libc::WEXITED | libc::WNOHANG | libc::__WALL;
    // No other report replaces the report of an end.
    wait(flags | libc::WNOWAIT) && wait(flags)
}

/// What waitid(2) tells of a child.
struct Info {
    tid: Tid,
    /// `CLD_…`.
    code: c_int,
    /// The signal and the event, or the exit status.
    status: c_int,
}

/// Calls waitid(2). `None`: there is no report now, or a signal handler ended the wait.
fn wait_id(kind: libc::idtype_t, id: i32, flags: c_int) -> Result<Option<Info>> {
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is a live structure of the type that waitid fills.
    if unsafe { libc::waitid(kind, id as libc::id_t, &mut info, flags) } == -1 {
        return failed("waitid", id).map(|()| None);
    }
    // SAFETY: waitid succeeded: the structure is that of SIGCHLD, or zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    Ok((pid != 0).then_some(Info { tid: Tid(pid), code: info.si_code, status }))
}
