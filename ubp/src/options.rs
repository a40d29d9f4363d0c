use std::fmt;
use std::time::Duration;

use crate::Syscalls;

/// Options of a session: what it reports and which processes it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Options {
    /// Default: on. Trace the children of debuggees. Otherwise breakpoints are removed from a child before it runs, and it is not traced.
    pub follow_forks: bool,
    /// Default: on. Deliver [`EventKind::Signal`](crate::EventKind::Signal). Otherwise signals reach the debuggee at once.
    pub signals: bool,
    /// Default: on. Deliver [`EventKind::ThreadStarted`](crate::EventKind::ThreadStarted) and
    /// [`EventKind::ThreadExited`](crate::EventKind::ThreadExited).
    pub threads: bool,
    /// Default: on. Kill the programs that the session spawned if the tracer is killed (`PTRACE_O_EXITKILL`). Otherwise the programs live on and
    /// handle the remaining breakpoints themselves. Attached processes are never killed.
    pub exit_kill: bool,
    /// Default: off. Deliver [`EventKind::GroupStopped`](crate::EventKind::GroupStopped) and [`EventKind::Continued`](crate::EventKind::Continued).
    pub group_stops: bool,
    /// Default: off. Deliver [`EventKind::VforkDone`](crate::EventKind::VforkDone).
    pub vforks: bool,
    /// Default: none. The system calls of new debuggees that are reported by [`EventKind::SyscallEntered`](crate::EventKind::SyscallEntered) and
    /// [`EventKind::SyscallReturned`](crate::EventKind::SyscallReturned). [`Session::trace_syscalls`](crate::Session::trace_syscalls)
    /// changes them for one process; a child begins with those of its parent.
    pub syscalls: Syscalls,
    /// Default: off. The session is told of system calls and signals, but need not hold their threads: over the kernel module they run on
    /// ([`Event::is_held`](crate::Event::is_held)), and events come as fast as they are read. Over ptrace each holds its thread.
    pub told_only: bool,
    /// Default: 50 microseconds. How long [`Session::wait`](crate::Session::wait) polls for a report of a thread before it sleeps; zero: not at all. On a machine with
    /// a processor to spare a hit takes a fraction of the time then, because no processor has to be woken. Where polling finds nothing it
    /// is done before ever fewer waits, so that it takes no more than a thousandth of the time. Over the kernel module there is nothing to
    /// wait for at a hit.
    pub busy_wait: Duration,
    /// Default: off. Other threads of this process wait for any child (`waitpid(-1, …)`), and so may take reports of debuggees (see the documentation of
    /// the crate). The session then looks for threads whose reports were taken, every 10 milliseconds.
    pub others_wait: bool,
    /// Default: room for 16,384 records, [`WhenFull::Wait`]. The memory in which code of jumps or the kernel module records hits
    /// ([`Report::Record`](crate::Report::Record)).
    pub buffer: Buffer,
}

/// The memory in which code of jumps records hits, of each process; over the kernel module, of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// What happens to a hit when there is no room for its record.
    pub when_full: WhenFull,
    /// Number of records for which there is room: at least 64, at most 1,048,576, rounded up to a power of two. Each takes 512 bytes. Over the
    /// kernel module all have at most 16 MiB.
    pub records: u32,
    /// Bytes of the stack for which each record has room ([`Spec::with_stack`](crate::Spec::with_stack)): at most 32,768, rounded up to a multiple
    /// of 8. Unless it is 0, each record takes 616 bytes and these, rounded up to a power of two.
    pub stack: u16,
}

/// What happens to a hit when there is no room for its record. Over ptrace, breakpoints whose hits traps record lose none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// The thread waits for the tracer: no hit is lost.
    #[default]
    Wait,
    /// The hit is lost, and [`Session::lost_records`](crate::Session::lost_records) has their exact number. Breakpoints count it over
    /// the kernel module alone.
    Drop,
    /// The oldest record is overwritten, so that the latest records can be taken at any time, and at the end of the process. Breakpoints count hits whose
    /// records were taken, or read because something changed. [`Session::lost_records`](crate::Session::lost_records) has the number of records
    /// that were overwritten; a record that a signal or an interruption let begin once more may be among them too.
    Overwrite,
}

impl Default for Buffer {
    fn default() -> Buffer {
        Buffer { when_full: WhenFull::Wait, records: 1 << 14, stack: 0 }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            follow_forks: true,
            signals: true,
            threads: true,
            exit_kill: true,
            group_stops: false,
            vforks: false,
            syscalls: Syscalls::NONE,
            told_only: false,
            busy_wait: Duration::from_micros(50),
            others_wait: false,
            buffer: Buffer::default(),
        }
    }
}

/// The mechanism of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Mechanism {
    /// ptrace(2).
    #[default]
    Ptrace,
    /// The kernel module's channel, `/dev/ntrace` (ntrace(4)).
    Kernel,
    /// The kernel module if it is loaded and supports the [`Options`], otherwise ptrace.
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
