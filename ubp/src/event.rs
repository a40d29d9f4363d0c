use std::time::Duration;

use crate::{BreakpointId, Pid, Signal, Tid};

/// Something that happened in a debuggee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The process.
    pub pid: Pid,
    /// The thread; the last one of the process for [`EventKind::Exited`] and [`EventKind::Killed`].
    pub tid: Tid,
    /// When the tracer saw it, on `CLOCK_MONOTONIC`.
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

/// Kinds of events. All but the exits hold the thread that they name until it is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The thread is about to execute the instruction at a breakpoint; its pc is the site.
    Hit(BreakpointId),
    /// The process runs a new program; no breakpoint stands in it. Nothing of the program has run.
    Exec,
    /// Code was mapped or unmapped by the dynamic loader; none of the new code has run.
    Loaded,
    /// The thread made a process, which is traced too and has its own copy of the breakpoints. Both are held: the parent until
    /// it is resumed, the child until its thread [`Pid::leader`] is.
    Forked {
        /// The new process.
        child: Pid,
    },
    /// A new thread, which has run nothing.
    ThreadStarted,
    /// The thread ended, others of its process live.
    ThreadExited,
    /// A signal is about to be delivered.
    Signal(Signal),
    /// The thread was stopped by [`Session::interrupt`](crate::Session::interrupt).
    Interrupted,
    /// The process ended with this status.
    Exited(i32),
    /// The process was killed by this signal.
    Killed(Signal),
}
