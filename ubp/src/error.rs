use std::path::PathBuf;
use std::{fmt, io};

use crate::arch::{self, Refusal};
use crate::{
    Address, AggregationError, ConditionProblem, FollowError, Mechanism, NoJump, Pid, RegisterSet, Signal, Tid,
    WatchError,
};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a function failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// This thread already has a session. The kernel could not tell the debuggees of two sessions apart.
    SecondSession,
    /// The process does not exist or does not belong to this session.
    NoSuchProcess(Pid),
    /// The thread does not exist or does not belong to this session.
    NoSuchThread(Tid),
    /// The thread is not held.
    NotHeld(Tid),
    /// There is no such signal (signal(7)).
    NoSuchSignal(Signal),
    /// There can be no breakpoint at an address, for example where a thread is to run to.
    Insert(InsertError),
    /// The program could not be started.
    Spawn(io::Error),
    /// The kernel does not permit the calling process to trace the process.
    Permission(Pid),
    /// Another process already traces the process.
    AlreadyTraced {
        /// The process to trace.
        pid: Pid,
        /// Its tracer.
        tracer: Pid,
    },
    /// The process is the tracer itself.
    Tracer(Pid),
    /// Another process shares the process's memory, and thus its breakpoints, and cannot be traced.
    SharedMemory {
        /// The process to trace.
        pid: Pid,
        /// The process that shares its memory.
        other: Pid,
        /// Why that process cannot be traced.
        source: Box<Error>,
    },
    /// The process is under seccomp(2), which may kill it for the system calls that map breakpoint storage. Only a tracer with
    /// `CAP_SYS_ADMIN` can suspend seccomp (`PTRACE_O_SUSPEND_SECCOMP`).
    Confined(Pid),
    /// The thread is in an uninterruptible wait (state D of proc_pid_stat(5)).
    Uninterruptible(Tid),
    /// The architecture of the process is not supported.
    Architecture {
        /// The process.
        pid: Pid,
        /// `e_machine` in the ELF header of its executable.
        machine: u16,
    },
    /// The process's memory cannot be accessed at the address.
    Memory {
        /// The process.
        pid: Pid,
        /// The first byte that cannot be accessed.
        address: Address,
    },
    /// No free memory for breakpoint storage is within reach of the address.
    NoRoom {
        /// The process.
        pid: Pid,
        /// The address that the storage must reach.
        near: Address,
    },
    /// A function called by [`Session::call`](crate::Session::call) was ended by a signal or did not return.
    Call {
        /// The thread.
        tid: Tid,
        /// The function.
        function: Address,
    },
    /// A watchpoint was refused.
    Watch(WatchError),
    /// A set of rules was refused.
    #[cfg(feature = "rules")]
    Rules(crate::rules::RuleError),
    /// The kernel gave the thread's debug registers to somebody else, such as perf(1).
    DebugRegisters(Tid),
    /// The processor or the kernel does not have such a register set, or the thread does not use it.
    NoRegisterSet {
        /// The thread.
        tid: Tid,
        /// The register set.
        set: RegisterSet,
    },
    /// The session's mechanism does not support the operation.
    Unsupported {
        /// The mechanism.
        mechanism: Mechanism,
        /// The unsupported operation.
        what: &'static str,
    },
    /// The session cannot follow what it was asked to.
    Follow(FollowError),
    /// The session cannot sum hits up as it was asked to.
    Aggregation(AggregationError),
    /// A command of the kernel module failed.
    #[cfg(feature = "module")]
    Module {
        /// The process.
        pid: Pid,
        /// The command (ntrace(4)).
        command: &'static str,
        /// The module's reply.
        failure: wire::Failure,
    },
    /// The kernel module lost this number of events for lack of room: the state of the processes is unknown.
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
        /// The system call's name, for ptrace with the request.
        call: &'static str,
        /// The process or thread that the call concerned.
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
            Error::NoSuchSignal(signal) => {
                write!(f, "there is no signal {}: the numbers are 1 to {}", signal.0, Signal::LAST)
            }
            Error::Insert(error) => fmt::Display::fmt(error, f),
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
            Error::Watch(error) => fmt::Display::fmt(error, f),
            Error::Follow(error) => fmt::Display::fmt(error, f),
            Error::Aggregation(error) => fmt::Display::fmt(error, f),
            #[cfg(feature = "rules")]
            Error::Rules(error) => fmt::Display::fmt(error, f),
            Error::DebugRegisters(tid) => {
                write!(f, "another user of the machine has the debug registers of thread {tid}")
            }
            Error::NoRegisterSet { tid, set } => write!(f, "thread {tid} has no register set {set}"),
            Error::Unsupported { mechanism, what } => write!(f, "the {mechanism} back end cannot {what}"),
            #[cfg(feature = "module")]
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
            Error::Insert(error) => Some(error),
            Error::Watch(error) => Some(error),
            #[cfg(feature = "rules")]
            Error::Rules(error) => Some(error),
            _ => None,
        }
    }
}

/// Why one breakpoint could not be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertError {
    /// The address of the breakpoint.
    pub address: Address,
    /// Why.
    pub reason: InsertReason,
}

/// Why there can be no breakpoint at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertReason {
    /// No memory is mapped at the address.
    NotMapped,
    /// The mapping is not executable.
    NotExecutable,
    /// The kernel does not permit writes to the mapping (vsyscall, shared read-only mappings).
    NotWritable,
    /// No instruction begins at the address: on arm64 addresses of instructions are multiples of four.
    Misaligned,
    /// The bytes are not an instruction.
    NotAnInstruction(arch::Error),
    /// The instruction cannot carry a breakpoint.
    Refused(Refusal),
    /// No free memory for storage is within reach.
    NoRoom,
    /// The breakpoint needs storage, and the process is under seccomp(2), which may kill it for the system calls that map storage.
    Confined,
    /// The breakpoint cannot have its condition.
    Condition(ConditionProblem),
    /// The thread of the breakpoint does not belong to the process.
    NoSuchThread(Tid),
    /// The session has no such aggregation.
    NoSuchAggregation,
    /// The session's mechanism cannot pass the instruction; the other mechanism can.
    Unsupported,
    /// The breakpoint asks for a jump ([`Patch::Jump`](crate::Patch::Jump)), and there can be none.
    NoJump(NoJump),
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
            InsertReason::Condition(problem) => write!(f, "its condition is of no use: {problem}"),
            InsertReason::NoSuchThread(tid) => write!(f, "the process has no thread {tid}"),
            InsertReason::NoSuchAggregation => f.write_str("the session has no such aggregation"),
            InsertReason::Unsupported => f.write_str("the back end cannot pass the instruction"),
            InsertReason::NoJump(reason) => write!(f, "no jump can stand there: {reason}"),
        }
    }
}

impl std::error::Error for InsertError {}

impl From<InsertError> for Error {
    fn from(error: InsertError) -> Error {
        Error::Insert(error)
    }
}
