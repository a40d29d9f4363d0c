//! System calls: one line for the entry and the return.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use nix::errno::Errno;
use serde::Serialize;
use ubp::{Arch, Event, EventKind, Pid, Syscall, SyscallResult, Tid};

use crate::syscalls::{self, Chosen};

/// One system call. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Call {
    /// The name; `syscall_NUMBER` for a number without a name.
    name: String,
    number: u64,
    /// All six, also those that the call does not take; `None` for a call that was entered before ntrace attached.
    arguments: Option<[String; 6]>,
    /// What the call returned; `None` if it failed, or did not return.
    result: Option<String>,
    /// The name of the error number.
    error: Option<String>,
    /// Whether a signal with a handler interrupted the call.
    interrupted: bool,
    /// Nanoseconds from the entry to the return.
    duration: Option<u64>,
}

/// A system call that ended, with the time of its entry.
pub(super) struct Ended {
    pub(super) tid: Tid,
    pub(super) since: Duration,
    pub(super) call: Call,
}

/// The system calls that threads are in.
#[derive(Default)]
pub(super) struct Calls(HashMap<Tid, Pending>);

struct Pending {
    pid: Pid,
    since: Duration,
    call: Syscall,
}

impl Calls {
    /// Follows an event, and returns the chosen calls that it ends.
    pub(super) fn follow(&mut self, event: &Event, chosen: &Chosen) -> Vec<Ended> {
        match event.kind {
            EventKind::SyscallEntered(call) => {
                // The call before, if it is still there, returned from a signal handler.
                let before = self.end(event.tid, None, event.time);
                if chosen.contains(call.arch, call.number) {
                    self.0.insert(event.tid, Pending { pid: event.pid, since: event.time, call });
                }
                before.into_iter().collect()
            }
            EventKind::SyscallReturned(returned) if chosen.contains(returned.arch, returned.number) => {
                let ended = self.end(event.tid, Some(returned.result), event.time);
                let unknown = || Ended {
                    tid: event.tid,
                    since: event.time,
                    call: Call::new(returned.arch, returned.number, None, Some(returned.result), None),
                };
                vec![ended.unwrap_or_else(unknown)]
            }
            EventKind::ThreadExited => self.end(event.tid, None, event.time).into_iter().collect(),
            EventKind::Exec => {
                // An exec ends the other threads of the process, and gives its own thread the number of the first.
                let executed = |pending: &Pending| {
                    let name = syscalls::name(pending.call.arch, pending.call.number);
                    matches!(name, Some("execve" | "execveat")).then_some(SyscallResult::Value(0))
                };
                self.end_all(event, executed)
            }
            EventKind::Exited(_) | EventKind::Killed(_) => self.end_all(event, |_| None),
            _ => Vec::new(),
        }
    }

    fn end(&mut self, tid: Tid, result: Option<SyscallResult>, time: Duration) -> Option<Ended> {
        let Pending { since, call, .. } = self.0.remove(&tid)?;
        let duration = result.map(|_| time.saturating_sub(since));
        Some(Ended { tid, since, call: Call::new(call.arch, call.number, Some(call.arguments), result, duration) })
    }

    /// Ends the calls of all threads of an event's process.
    fn end_all(&mut self, event: &Event, result: impl Fn(&Pending) -> Option<SyscallResult>) -> Vec<Ended> {
        let of_process = self.0.iter().filter(|(_, pending)| pending.pid == event.pid);
        let mut ending: Vec<_> = of_process.map(|(tid, pending)| (pending.since, *tid, result(pending))).collect();
        ending.sort_by_key(|(since, tid, _)| (*since, *tid));
        ending.into_iter().filter_map(|(_, tid, result)| self.end(tid, result, event.time)).collect()
    }
}

impl Call {
    fn new(
        arch: Arch,
        number: u64,
        arguments: Option<[u64; 6]>,
        result: Option<SyscallResult>,
        duration: Option<Duration>,
    ) -> Call {
        let name = syscalls::name(arch, number).map_or_else(|| format!("syscall_{number}"), str::to_string);
        let arguments = arguments.map(|arguments| arguments.map(|argument| format!("{argument:#x}")));
        let (value, error) = match result {
            Some(SyscallResult::Value(value)) => (Some(format!("{value:#x}")), None),
            Some(SyscallResult::Error(error)) => (None, Some(error_name(error))),
            _ => (None, None),
        };
        let interrupted = matches!(result, Some(SyscallResult::Interrupted));
        let duration = duration.map(|duration| duration.as_nanos() as u64);
        Call { name, number, arguments, result: value, error, interrupted, duration }
    }
}

/// The name of an error number (errno(3)).
pub(super) fn error_name(number: i32) -> String {
    match Errno::from_raw(number) {
        Errno::UnknownErrno => format!("error {number}"),
        known => format!("{known:?}"),
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = self.arguments.as_ref().map_or("…".into(), |arguments| arguments.join(", "));
        write!(f, "{}({arguments})", self.name)?;
        match (&self.result, &self.error) {
            (Some(value), _) => write!(f, " = {value}"),
            (None, Some(error)) => write!(f, " = {error}"),
            (None, None) if self.interrupted => f.write_str(" is interrupted"),
            (None, None) => f.write_str(" does not return"),
        }
    }
}
