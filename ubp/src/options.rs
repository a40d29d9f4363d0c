use std::fmt;

/// What a session reports and follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Options {
    /// Trace the processes that a debuggee makes. Else they are cleaned of breakpoints before they run, and let go.
    pub follow_forks: bool,
    /// Deliver [`EventKind::Signal`](crate::EventKind::Signal). Else signals reach the debuggee at once.
    pub signals: bool,
    /// Deliver [`EventKind::ThreadStarted`](crate::EventKind::ThreadStarted) and
    /// [`EventKind::ThreadExited`](crate::EventKind::ThreadExited).
    pub threads: bool,
    /// Kill the programs that the session spawned when the tracer itself is killed, rather than leave breakpoints in them
    /// that the programs themselves answer (`PTRACE_O_EXITKILL`). Processes attached to are never killed.
    pub exit_kill: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { follow_forks: true, signals: true, threads: true, exit_kill: true }
    }
}

/// What a session works by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Mechanism {
    /// ptrace(2).
    #[default]
    Ptrace,
    /// The kernel module's channel, `/dev/ntrace` (docs/ntrace.4). It tells of no signals and calls no functions.
    Kernel,
    /// The kernel module where it is loaded and can do what the [`Options`] ask for, else ptrace.
    Auto,
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mechanism::Ptrace => "ptrace",
            Mechanism::Kernel => "kernel",
            Mechanism::Auto => "auto",
        })
    }
}
