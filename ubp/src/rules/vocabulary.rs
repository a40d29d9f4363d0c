//! The kinds of events that rules are about: a table that programs can list.

use crate::Mechanism;
use crate::arch::MODULE_CANNOT_WATCH;

/// A kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A thread was made.
    ThreadStarted,
    /// A thread ended.
    ThreadExited,
    /// A process was made.
    Forked,
    /// A process executed a program.
    Exec,
    /// A process ended by itself.
    Exited,
    /// A signal ended a process.
    Killed,
    /// A signal was sent.
    SignalSent,
    /// A signal is about to be delivered.
    SignalDelivered,
    /// A thread is about to make a system call.
    SyscallEntered,
    /// A system call returned.
    SyscallReturned,
    /// Code of a file was mapped.
    Loaded,
    /// Code of a file was unmapped.
    Unloaded,
    /// A thread reached a breakpoint.
    Breakpoint,
    /// A thread made a single step.
    Stepped,
    /// A thread accessed watched memory.
    Watched,
    /// Events were lost.
    Lost,
    /// The session has no process left.
    SessionEnded,
}

/// A number of an event that filters compare and aggregates take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The number of the system call or signal.
    Number,
    /// What the system call returned; a negative error number if it failed.
    Result,
    /// The status of the process.
    Status,
    /// The new process.
    Child,
    /// The address of the breakpoint or of the access.
    Address,
    /// The hits of the breakpoint, with this one.
    Hits,
}

/// A row of the vocabulary.
struct Entry {
    kind: Kind,
    name: &'static str,
    meaning: &'static str,
    fields: &'static [Field],
    /// Whether the event has the argument registers of a call.
    arguments: bool,
    /// Why ptrace(2) does not report the kind; empty if it does.
    ptrace: &'static str,
    /// Why the kernel module does not report the kind; empty if it does.
    module: &'static str,
}

const fn entry(kind: Kind, name: &'static str, meaning: &'static str, fields: &'static [Field]) -> Entry {
    Entry { kind, name, meaning, fields, arguments: false, ptrace: "", module: "" }
}

/// All kinds.
const TABLE: [Entry; 17] = [
    entry(Kind::ThreadStarted, "thread_started", "a thread was made, and has executed nothing", &[]),
    entry(Kind::ThreadExited, "thread_exited", "a thread ended, and others of its process run", &[]),
    entry(Kind::Forked, "forked", "fork, vfork or clone made a process, which is traced too", &[Field::Child]),
    entry(Kind::Exec, "exec", "a process executed a program, and has executed nothing of it", &[]),
    entry(Kind::Exited, "exited", "a process ended by itself", &[Field::Status]),
    entry(Kind::Killed, "killed", "a signal ended a process", &[Field::Number]),
    Entry {
        ptrace: "ptrace(2) tells of a signal when it is delivered",
        module: "the module tells of a signal when it is delivered",
        ..entry(Kind::SignalSent, "signal_sent", "a signal was sent", &[Field::Number])
    },
    entry(Kind::SignalDelivered, "signal", "a signal is about to be delivered", &[Field::Number]),
    Entry {
        arguments: true,
        ..entry(Kind::SyscallEntered, "syscall_entered", "a thread is about to make a system call", &[Field::Number])
    },
    entry(Kind::SyscallReturned, "syscall_returned", "a system call returned", &[Field::Number, Field::Result]),
    entry(Kind::Loaded, "loaded", "code of a file was mapped, and none of it has run", &[]),
    entry(Kind::Unloaded, "unloaded", "code of a file was unmapped", &[]),
    Entry {
        arguments: true,
        ..entry(
            Kind::Breakpoint,
            "breakpoint",
            "a thread is about to execute the instruction at a breakpoint",
            &[Field::Address, Field::Hits],
        )
    },
    entry(Kind::Stepped, "stepped", "a thread is where a step or run was to take it", &[]),
    Entry {
        module: MODULE_CANNOT_WATCH,
        ..entry(Kind::Watched, "watched", "a thread accessed watched memory", &[Field::Address])
    },
    Entry {
        ptrace: "over ptrace no event is lost",
        module: "Session::wait and Session::poll return the error Lost",
        ..entry(Kind::Lost, "lost", "events were lost for lack of room", &[])
    },
    Entry {
        ptrace: "Session::wait returns None",
        module: "Session::wait returns None",
        ..entry(Kind::SessionEnded, "session_ended", "the session has no process left", &[])
    },
];

impl Kind {
    /// All kinds, in the order of the vocabulary.
    pub fn all() -> impl Iterator<Item = Kind> {
        TABLE.iter().map(|entry| entry.kind)
    }

    /// The kind of a name.
    pub fn from_name(name: &str) -> Option<Kind> {
        TABLE.iter().find(|entry| entry.name == name).map(|entry| entry.kind)
    }

    /// The name: lower-case words joined by `_`.
    pub fn name(self) -> &'static str {
        self.entry().map_or("", |entry| entry.name)
    }

    /// What happened, in a few words.
    pub fn meaning(self) -> &'static str {
        self.entry().map_or("", |entry| entry.meaning)
    }

    /// The numbers that events of the kind have.
    pub fn fields(self) -> &'static [Field] {
        self.entry().map_or(&[], |entry| entry.fields)
    }

    /// Whether the first arguments of a function or system call are known.
    pub fn has_arguments(self) -> bool {
        self.entry().is_some_and(|entry| entry.arguments)
    }

    /// Why a mechanism does not report the kind; `None` if it does.
    pub fn lacking(self, mechanism: Mechanism) -> Option<&'static str> {
        let entry = self.entry()?;
        let reason = match mechanism {
            Mechanism::Kernel => entry.module,
            _ => entry.ptrace,
        };
        (!reason.is_empty()).then_some(reason)
    }

    fn entry(self) -> Option<&'static Entry> {
        TABLE.iter().find(|entry| entry.kind == self)
    }
}

impl Field {
    /// All fields with their names and meanings.
    pub const ALL: [(Field, &'static str, &'static str); 6] = [
        (Field::Number, "number", "the number of the system call or signal"),
        (Field::Result, "result", "what the system call returned; a negative error number if it failed"),
        (Field::Status, "status", "the status with which the process exited"),
        (Field::Child, "child", "the number of the new process"),
        (Field::Address, "address", "the address of the breakpoint or of the access"),
        (Field::Hits, "hits", "the hits of the breakpoint, with this one"),
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        Field::ALL.iter().find(|(field, ..)| *field == self).map_or("", |(_, name, _)| name)
    }

    /// The field of a name.
    pub fn from_name(name: &str) -> Option<Field> {
        Field::ALL.iter().find(|(_, known, _)| *known == name).map(|(field, ..)| *field)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_one_row_with_a_name_of_its_own() {
        let names: BTreeSet<&str> = Kind::all().map(Kind::name).collect();
        assert_eq!((names.len(), names.contains("")), (TABLE.len(), false));
        assert!(Kind::all().all(|kind| Kind::from_name(kind.name()) == Some(kind) && !kind.meaning().is_empty()));
        let fields: BTreeSet<Field> = Field::ALL.iter().map(|(field, ..)| *field).collect();
        assert_eq!(fields.len(), Field::ALL.len());
        assert!(Kind::all().flat_map(Kind::fields).all(|field| Field::from_name(field.name()) == Some(*field)));
    }

    #[test]
    fn what_a_mechanism_lacks_has_a_reason() {
        assert_eq!(Kind::SyscallEntered.lacking(Mechanism::Ptrace), None);
        assert!(Kind::Lost.lacking(Mechanism::Kernel).is_some_and(|reason| reason.contains("Lost")));
        assert!(Kind::SignalSent.lacking(Mechanism::Ptrace).is_some());
    }
}
