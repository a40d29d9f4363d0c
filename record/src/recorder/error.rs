use std::fmt;
use std::io;

/// Why recording cannot begin or go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// The program cannot be started.
    Spawn(io::Error),
    /// There is no such process or thread.
    NoSuchProcess(u32),
    /// The process may not be traced by this user.
    Permission(u32),
    /// Another tracer traces the process.
    AlreadyTraced {
        /// The process.
        pid: u32,
        /// Its tracer; 0 if the tracer is in another pid namespace.
        tracer: u32,
    },
    /// The trace cannot be written.
    Output(io::Error),
    /// The kernel refuses a request unexpectedly.
    System {
        /// The request.
        call: &'static str,
        /// The thread.
        tid: u32,
        /// Its answer.
        source: io::Error,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Spawn(source) => write!(f, "cannot start the program: {source}"),
            RecordError::NoSuchProcess(pid) => write!(f, "no such process: {pid}"),
            RecordError::Permission(pid) => write!(f, "process {pid} may not be traced"),
            RecordError::AlreadyTraced { pid, tracer } => write!(f, "process {pid} is traced by process {tracer}"),
            RecordError::Output(source) => write!(f, "cannot write the trace: {source}"),
            RecordError::System { call, tid, source } => write!(f, "{call} of thread {tid}: {source}"),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RecordError::Spawn(source) | RecordError::Output(source) | RecordError::System { source, .. } => {
                Some(source)
            }
            _ => None,
        }
    }
}
