use std::time::Duration;

use crate::{BreakpointId, Pid, Signal, Tid};

/// An event in a debuggee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The process of the event.
    pub pid: Pid,
    /// The thread of the event; for [`EventKind::Exited`] and [`EventKind::Killed`] the last thread of the process.
    pub tid: Tid,
    /// The time at which the tracer saw the event (`CLOCK_MONOTONIC`).
    pub time: Duration,
    /// What happened.
    pub kind: EventKind,
}

impl Event {
    /// Whether the thread is held until [`Session::resume`](crate::Session::resume).
    pub fn is_held(&self) -> bool {
        !matches!(self.kind, EventKind::ThreadExited | EventKind::Exited(_) | EventKind::Killed(_))
    }
}

/// Kinds of events. All except exits hold the event's thread until it is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The thread is about to execute the instruction at a breakpoint. Its pc is the breakpoint's address.
    Hit(BreakpointId),
    /// The process executed a new program, which has no breakpoints. None of its instructions has run.
    Exec,
    /// The dynamic loader mapped or unmapped code. None of the new code has run.
    Loaded,
    /// The thread created a process, which is traced too and has its own copy of the breakpoints. Both are held: the parent until
    /// it is resumed, the child until its first thread ([`Pid::leader`]) is resumed.
    Forked {
        /// The new process.
        child: Pid,
    },
    /// The thread is new and has executed nothing.
    ThreadStarted,
    /// The thread ended; other threads of its process still run.
    ThreadExited,
    /// A signal is about to be delivered.
    Signal(Signal),
    /// [`Session::interrupt`](crate::Session::interrupt) stopped the thread.
    Interrupted,
    /// The process ended with this status.
    Exited(i32),
    /// The process was killed by this signal.
    Killed(Signal),
}
