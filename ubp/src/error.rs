use std::path::PathBuf;
use std::{fmt, io};

use crate::arch::{self, Refusal};
use crate::{Address, Mechanism, Pid, Tid};

/// What every call of the crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// This thread has a session already; the kernel could not tell their debuggees apart.
    SecondSession,
    /// No such process, or not one of this session.
    NoSuchProcess(Pid),
    /// No such thread, or not one of this session.
    NoSuchThread(Tid),
    /// The thread runs; registers can be had of held threads only.
    NotHeld(Tid),
    /// The program could not be started.
    Spawn(io::Error),
    /// The kernel refuses to let this process trace that one.
    Permission(Pid),
    /// Another process traces it already.
    AlreadyTraced {
        /// The process asked for.
        pid: Pid,
        /// Its tracer.
        tracer: Pid,
    },
    /// The process is the tracer itself, which cannot stop itself and go on.
    Tracer(Pid),
    /// Another process runs in the same memory, where a breakpoint is one for both, and cannot be traced.
    SharedMemory {
        /// The process asked for.
        pid: Pid,
        /// The one that shares its memory.
        other: Pid,
        /// Why it cannot be traced.
        source: Box<Error>,
    },
    /// The process is under seccomp(2), which may kill it for a system call that is not its own; that can be suspended with
    /// `CAP_SYS_ADMIN` only (`PTRACE_O_SUSPEND_SECCOMP`).
    Confined(Pid),
    /// The thread waits in the kernel, and no signal ends that wait (state D of proc_pid_stat(5)).
    Uninterruptible(Tid),
    /// The process is of an architecture that is not supported (ELF machine number).
    Architecture {
        /// The process.
        pid: Pid,
        /// `e_machine` of its executable.
        machine: u16,
    },
    /// The debuggee's memory cannot be read or written there.
    Memory {
        /// The process.
        pid: Pid,
        /// The first byte that failed.
        address: Address,
    },
    /// No room for breakpoint storage within reach of this address.
    NoRoom {
        /// The process.
        pid: Pid,
        /// Where it was needed.
        near: Address,
    },
    /// A function called by [`Session::call`](crate::Session::call) was ended by a signal or did not return.
    Call {
        /// The thread.
        tid: Tid,
        /// The function.
        function: Address,
    },
    /// The session works by a mechanism that cannot do it.
    Unsupported {
        /// The mechanism.
        mechanism: Mechanism,
        /// What it cannot.
        what: &'static str,
    },
    /// The kernel module did not do what it was asked.
    Module {
        /// The process.
        pid: Pid,
        /// The command (docs/ntrace.4).
        command: &'static str,
        /// What it answered.
        failure: wire::Failure,
    },
    /// The kernel module had no room for so many events: what became of the processes is not known.
    Lost(u64),
    /// A file could not be opened, read or understood.
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A system call failed.
    System {
        /// Its name, with the request where it is ptrace's.
        call: &'static str,
        /// The process or thread it was for.
        id: i32,
        /// Why.
        source: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::SecondSession => f.write_str("this thread has a session already"),
            Error::NoSuchProcess(pid) => write!(f, "no such process: {pid}"),
            Error::NoSuchThread(tid) => write!(f, "no such thread: {tid}"),
            Error::NotHeld(tid) => write!(f, "thread {tid} is not held"),
            Error::Spawn(source) => write!(f, "cannot start the program: {source}"),
            Error::Permission(pid) => write!(f, "not permitted to trace process {pid}"),
            Error::AlreadyTraced { pid, tracer } => write!(f, "process {pid} is already traced by process {tracer}"),
            Error::Tracer(pid) => write!(f, "process {pid} is the tracer itself: choose another process"),
            Error::SharedMemory { pid, other, source } => {
                write!(f, "process {other} runs in the memory of process {pid} and cannot be traced: {source}")
            }
            Error::Confined(pid) => write!(
                f,
                "process {pid} is under seccomp, which may kill it for mapping breakpoint storage: CAP_SYS_ADMIN is needed to \
                 suspend that"
            ),
            Error::Uninterruptible(tid) => {
                write!(f, "thread {tid} waits in the kernel for something that no signal ends, and cannot be stopped")
            }
            Error::Architecture { pid, machine } => {
                write!(f, "process {pid} runs a program of an unsupported architecture (ELF machine {machine})")
            }
            Error::Memory { pid, address } => write!(f, "memory of process {pid} at {address} cannot be accessed"),
            Error::NoRoom { pid, near } => {
                write!(f, "no room for breakpoint storage near {near} in process {pid}")
            }
            Error::Call { tid, function } => write!(f, "the call of {function} in thread {tid} did not return"),
            Error::Unsupported { mechanism, what } => write!(f, "the {mechanism} back end cannot {what}"),
            Error::Module { pid, command, failure } => write!(f, "/dev/ntrace: {command} of process {pid}: {failure}"),
            Error::Lost(count) => write!(f, "/dev/ntrace: {count} events were lost"),
            Error::File { path, source } => write!(f, "{}: {source}", path.display()),
            Error::System { call, id, source } => write!(f, "{call} on {id}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Spawn(source) | Error::File { source, .. } | Error::System { source, .. } => Some(source),
            Error::SharedMemory { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}

/// Why one breakpoint could not be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertError {
    /// Where.
    pub address: Address,
    /// Why.
    pub reason: InsertReason,
}

/// Why a breakpoint cannot stand at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertReason {
    /// Nothing is mapped there.
    NotMapped,
    /// The mapping is not executable.
    NotExecutable,
    /// The kernel does not let the byte be written (vsyscall, shared read-only mappings).
    NotWritable,
    /// No instruction begins there: addresses of instructions are multiples of four on arm64.
    Misaligned,
    /// The bytes are not an instruction.
    NotAnInstruction(arch::Error),
    /// The instruction cannot carry a breakpoint.
    Refused(Refusal),
    /// No storage could be mapped within reach.
    NoRoom,
    /// Storage is needed, and the process is under seccomp(2), which may kill it for a system call that is not its own.
    Confined,
    /// The session's mechanism has no way to let threads pass the instruction; another has.
    Unsupported,
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no breakpoint at {}: ", self.address)?;
        match self.reason {
            InsertReason::NotMapped => f.write_str("nothing is mapped there"),
            InsertReason::NotExecutable => f.write_str("the mapping is not executable"),
            InsertReason::NotWritable => f.write_str("the mapping cannot be written"),
            InsertReason::Misaligned => f.write_str("no instruction begins at such an address"),
            InsertReason::NotAnInstruction(error) => write!(f, "not an instruction: {error}"),
            InsertReason::Refused(refusal) => fmt::Display::fmt(&refusal, f),
            InsertReason::NoRoom => f.write_str("no storage can be mapped within reach"),
            InsertReason::Confined => f.write_str(
                "the process is under seccomp, which may kill it for mapping storage: CAP_SYS_ADMIN is needed to suspend that",
            ),
            InsertReason::Unsupported => f.write_str("the back end cannot pass the instruction"),
        }
    }
}

impl std::error::Error for InsertError {}
