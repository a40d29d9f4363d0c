//! Stops of the program.

use ubp::{Pid, Tid};

/// A stop of the program that the client is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    pub(super) reason: Reason,
}

/// Why the program stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Entry,
    Step,
    Pause,
    /// The client's breakpoints, by their numbers, and the protocol's word for their kind.
    Breakpoint(Vec<u64>, &'static str),
    /// What is thrown, and a description.
    Exception(String),
    /// A watched variable was accessed: its description.
    Watched(String),
}
