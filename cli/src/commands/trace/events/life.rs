//! Begin and end of processes and threads, and the programs that they execute.

use std::fmt;
use std::fs;

use serde::Serialize;
use ubp::{EventKind, Pid};

use crate::output::shown;

/// What happened to a process or thread. The field names are the keys of the JSON form.
#[derive(Debug, Default, Serialize)]
pub(super) struct Life {
    /// The value of the key `event`.
    #[serde(skip)]
    pub(super) name: &'static str,
    /// The new process.
    #[serde(skip_serializing_if = "Option::is_none")]
    child: Option<i32>,
    /// The path of the program that is executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// The status with which the process exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<i32>,
    /// The signal that killed the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
}

impl Life {
    pub(super) fn of(pid: Pid, kind: &EventKind) -> Option<Life> {
        let named = |name| Life { name, ..Life::default() };
        Some(match *kind {
            EventKind::Forked { child } => Life { child: Some(child.0), ..named("forked") },
            EventKind::ThreadStarted => named("thread_started"),
            EventKind::ThreadExited => named("thread_exited"),
            EventKind::Exec | EventKind::Followed(_) => Life { program: Some(program(pid)), ..named("exec") },
            EventKind::Exited(status) => Life { status: Some(status), ..named("exited") },
            EventKind::Killed(signal) => Life { signal: Some(signal.to_string()), ..named("killed") },
            _ => return None,
        })
    }
}

/// The path of the program of a process that is held.
fn program(pid: Pid) -> String {
    fs::read_link(format!("/proc/{pid}/exe")).map_or_else(|_| "an unknown program".into(), shown)
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.child, &self.program, self.status, &self.signal) {
            (Some(child), ..) => write!(f, "forked {child}"),
            (_, Some(program), ..) => write!(f, "executed {program}"),
            (_, _, Some(status), _) => write!(f, "exited with {status}"),
            (.., Some(signal)) => write!(f, "killed by {signal}"),
            _ => f.write_str(&self.name.replace('_', " ")),
        }
    }
}
