use std::time::Duration;

use crate::{Address, BreakpointId, FollowId, Module, Pid, Signal, SignalInfo, Syscall, SyscallReturn, Tid, WatchId};

/// An event in a debuggee. Later versions may have more fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The process of the event.
    pub pid: Pid,
    /// The thread of the event; for [`EventKind::Exited`] and [`EventKind::Killed`] the last thread of the process.
    pub tid: Tid,
    /// The time at which the tracer saw the event (`CLOCK_MONOTONIC`).
    pub time: Duration,
    /// What happened.
    pub kind: EventKind,
    /// Whether the thread runs on although events of this kind hold it elsewhere.
    pub(crate) runs_on: bool,
}

impl Event {
    /// Whether the thread is held until [`Session::resume`](crate::Session::resume).
    pub fn is_held(&self) -> bool {
        let is_gone = matches!(self.kind, EventKind::ThreadExited | EventKind::Exited(_) | EventKind::Killed(_));
        !self.runs_on && !is_gone && !matches!(self.kind, EventKind::NotFollowed(_))
    }
}

/// Kinds of events. All except exits and [`EventKind::NotFollowed`] hold the event's thread until it is resumed; system calls and signals may not
/// ([`Options::told_only`](crate::Options::told_only)).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The thread is about to execute the instruction at breakpoints. Its pc is their address.
    Hit(Hit),
    /// The thread is where [`Session::step`](crate::Session::step), [`Session::step_over`](crate::Session::step_over) or
    /// [`Session::run_to`](crate::Session::run_to) was to take it, and no breakpoint there reports the arrival.
    Stepped,
    /// The process executed a new program, which has no breakpoints. None of its instructions has run.
    Exec,
    /// The process executed a program that [`Session::follow`](crate::Session::follow) names, and is traced from now on. None of the
    /// program's instructions has run.
    Followed(FollowId),
    /// The process executed a program that [`Session::follow`](crate::Session::follow) names, and is not traced: the session has 4,096 processes,
    /// 64 sessions trace the process, or the kernel lacks memory.
    NotFollowed(FollowId),
    /// The dynamic loader mapped the code of these modules, or more code of modules that it has reported before. None of the new code has
    /// run. The list is empty if the code that was mapped or unmapped belongs to no module: it has no ELF header in memory.
    Loaded(Vec<Module>),
    /// These modules are no longer mapped. If others came at the same time, [`EventKind::Loaded`] names those before.
    Unloaded(Vec<Module>),
    /// The thread created a process, which is traced too and has its own copy of the breakpoints. Both are held: the parent until
    /// it is resumed, the child until its first thread ([`Pid::leader`]) is resumed.
    Forked {
        /// The new process.
        child: Pid,
    },
    /// The child that the thread created by vfork(2) has left the thread's memory: it executed a program, or ended. The thread has not run
    /// since it created the child ([`Options::vforks`](crate::Options::vforks)).
    VforkDone,
    /// The thread is new and has executed nothing.
    ThreadStarted,
    /// The thread ended; other threads of its process still run.
    ThreadExited,
    /// A signal is about to be delivered.
    Signal(SignalInfo),
    /// The thread accessed watched memory ([`Session::watch`](crate::Session::watch)). On x86 the access is made, and the thread is
    /// behind the instruction; a repeated string instruction may be between two repetitions. On arm64 the thread is about to make
    /// the access. For [`Access::Execute`](crate::Access::Execute) the instruction has not run.
    Watched {
        /// The watchpoint. An access to several watchpoints is one event for each.
        id: WatchId,
        /// The first byte of the debug register that observed the access: a range may need several registers.
        address: Address,
    },
    /// The thread is about to make a system call that [`Session::trace_syscalls`](crate::Session::trace_syscalls) or
    /// [`Options::syscalls`](crate::Options::syscalls) chose. The kernel restarts an interrupted call without another event, unless a
    /// signal handler runs before.
    SyscallEntered(Syscall),
    /// The system call of the last [`EventKind::SyscallEntered`] returned. A call that executes a program, ends the thread or returns
    /// from a signal handler has no such event.
    SyscallReturned(SyscallReturn),
    /// The thread is in a group-stop by this signal; other threads of the process report theirs. If it is resumed, it stays there
    /// until `SIGCONT`, and may be interrupted ([`Options::group_stops`](crate::Options::group_stops)).
    GroupStopped(Signal),
    /// The group-stop of the thread ended.
    Continued,
    /// [`Session::interrupt`](crate::Session::interrupt) or [`Session::interrupt_thread`](crate::Session::interrupt_thread) stopped the thread.
    Interrupted,
    /// The process ended with this status.
    Exited(i32),
    /// The process was killed by this signal.
    Killed(Signal),
}

/// One arrival of a thread at an address, with all breakpoints there that report it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    address: Address,
    first: (BreakpointId, u64),
    others: Vec<(BreakpointId, u64)>,
}

impl Hit {
    /// The hit of breakpoints at `address`, each with its number of hits; `None` without a breakpoint.
    pub(crate) fn new(address: u64, breakpoints: impl IntoIterator<Item = (BreakpointId, u64)>) -> Option<Hit> {
        let mut breakpoints = breakpoints.into_iter();
        let first = breakpoints.next()?;
        Some(Hit { address: Address(address), first, others: breakpoints.collect() })
    }

    /// The address.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The oldest of the breakpoints: the only one where a debugger inserts no two breakpoints at one address.
    pub fn id(&self) -> BreakpointId {
        self.first.0
    }

    /// The number of hits of the oldest of the breakpoints, including this one.
    pub fn count(&self) -> u64 {
        self.first.1
    }

    /// All breakpoints that report the arrival, oldest first, each with its number of hits including this one.
    pub fn breakpoints(&self) -> impl Iterator<Item = (BreakpointId, u64)> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// Whether a breakpoint is one of those that report the arrival.
    pub fn is_of(&self, id: BreakpointId) -> bool {
        self.breakpoints().any(|(other, _)| other == id)
    }
}
