//! Actions of rules.

use super::value::Value;
use crate::{Access, Signal};

/// What a rule does on an occurrence. Actions are carried out in their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Makes an [`Occurrence`](super::Occurrence).
    Record(Payload),
    /// Adds to the aggregate of this name.
    Aggregate(String),
    /// Holds the thread until [`Session::resume`](crate::Session::resume), or until a rule resumes it.
    Hold,
    /// Resumes all threads that rules hold and that are in the group of this name.
    Resume(String),
    /// Inserts the breakpoints of the rule of this name in the process.
    Insert(String),
    /// Removes the breakpoints of the rule of this name from the process.
    Remove(String),
    /// Watches memory of the process. The address is a value of the occurrence.
    Watch {
        /// The address.
        address: Value,
        /// Bytes.
        length: u64,
        /// The accesses to watch.
        access: Access,
    },
    /// Sends the thread a signal.
    Signal(Signal),
    /// Moves the thread from the rule's group to the group of this name.
    Move(String),
    /// Detaches from the process.
    Detach,
    /// Asks the session's user to look at once ([`Reaction::wake`](super::Reaction)).
    Wake,
}

/// What an occurrence has beside its event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Payload {
    /// The general registers.
    pub registers: bool,
    /// The number of integer arguments, at most 6: of the function at whose first instruction the thread is, or of the system call that it is
    /// about to make.
    pub arguments: u8,
    /// The bytes of the stack, from the stack pointer on.
    pub stack: u16,
    /// Memory: the value that is its address, and the number of bytes.
    pub memory: Vec<(Value, u16)>,
}

/// An action: its name, and what it does in a few words.
pub const ACTIONS: [(&str, &str); 11] = [
    ("record", "makes an occurrence with registers, arguments, stack or memory"),
    ("aggregate", "adds to an aggregate"),
    ("hold", "holds the thread"),
    ("resume", "resumes all threads of a group that rules hold"),
    ("insert", "inserts the breakpoints of another rule in the process"),
    ("remove", "removes the breakpoints of another rule from the process"),
    ("watch", "watches memory of the process"),
    ("signal", "sends the thread a signal"),
    ("move", "moves the thread to another group"),
    ("detach", "detaches from the process"),
    ("wake", "asks the session's user to look at once"),
];

/// A part of a filter: its name, and what it tests in a few words.
pub const FILTERS: [(&str, &str); 6] = [
    ("all", "all parts hold"),
    ("any", "one part holds"),
    ("not", "the part does not hold"),
    ("compare", "an argument, a register, memory or a number of the event is compared with a number"),
    ("process, thread", "the process or thread has this number"),
    ("executable", "the path or name of the process's program matches a pattern with * and ?"),
];
