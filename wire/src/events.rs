//! Events, which the kernel module sends without a command.

use crate::declare::{field, kind, parameters, unfield, value};
use crate::{Declaration, Documentation, EncodeError, Error, Header, Message, Sink, encode};

/// The first code of an event.
pub const FIRST: u16 = 0x8000;

/// Declares events: code, name, enum variant, fields.
macro_rules! events {
    ($(
        $(#[doc = $doc:literal])*
        $code:literal $name:ident $Name:ident {
            $($(#[doc = $field_doc:literal])* $field:ident: $kind:ident,)*
        }
    )*) => {
        /// All events.
        pub const DECLARATIONS: &[Declaration] = &[$(Declaration {
            code: $code,
            name: stringify!($name),
            fields: parameters!($($field: $kind,)*),
            reply: &[],
        },)*];

        /// The documentation of all events, in the order of [`DECLARATIONS`].
        pub const DOCUMENTATION: &[Documentation] = &[$(Documentation {
            lines: &[$($doc,)*],
            fields: &[$(&[$($field_doc,)*],)*],
            reply: &[],
        },)*];

        /// An event. Later versions may have more.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Event<'a> {
            $($(#[doc = $doc])* $Name { $($(#[doc = $field_doc])* $field: value!('a $kind),)* },)*
        }

        impl<'a> Event<'a> {
            /// The event that a message holds. The message's tag is the sequence number.
            ///
            /// # Errors
            /// No event has the message's code, or the fields do not fit the declaration.
            pub fn parse(message: &Message<'a>) -> Result<Event<'a>, Error> {
                match message.header.code {
                    $($code => {
                        let [$($field),*] = message.fields(&[$(kind!($kind)),*])?;
                        Ok(Event::$Name { $($field: unfield!($kind, $field),)* })
                    })*
                    code => Err(Error::Code(code)),
                }
            }

            /// The event's code.
            pub const fn code(&self) -> u16 {
                match self {
                    $(Event::$Name { .. } => $code,)*
                }
            }

            /// Writes the event as a message with the given sequence number.
            ///
            /// # Errors
            /// As [`encode`].
            pub fn encode<S: Sink>(&self, sink: &mut S, sequence: u64) -> Result<(), EncodeError<S::Error>> {
                let header = Header { code: self.code(), flags: 0, tag: sequence };
                match *self {
                    $(Event::$Name { $($field),* } => encode(sink, header, &[$(field!($kind, $field)),*]),)*
                }
            }
        }
    };
}

events! {
    /// Events were lost because there was no room for them. The sequence numbers before this one are missing.
    0x8000 lost Lost {
        /// Number of lost events.
        count: word,
    }

    /// A thread hit a breakpoint that records events.
    0x8001 hit Hit {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Thread number.
        thread: word,
        /// Address of the breakpoint.
        address: word,
        /// Number of hits so far, including this one.
        count: word,
        /// Registers as `registers` returns them; empty unless the breakpoint asks for them.
        registers: blob,
        /// Memory that the breakpoint asks for; else empty.
        memory: blob,
    }

    /// A thread is held until `resume` or `step`.
    0x8002 held Held {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Thread number.
        thread: word,
        /// Reason: 1 a breakpoint, 2 a finished step, 3 `hold`, 4 the thread executed another program, 5 the thread is new, 6 a system call
        /// begins, 7 a system call has ended, 8 a signal, 9 a watchpoint. A step from 6, 7 or 8 ends where the thread goes on in user mode, with reason 3.
        reason: word,
        /// The thread's next instruction.
        address: word,
    }

    /// A traced process created a process, which has executed nothing yet. A child made by `fork` has its own copy of the breakpoints,
    /// whose counts continue from the parent's, if children are traced; otherwise it has none. A child that shares the memory (`vfork`)
    /// is traced with its parent, and is reported again when it executes a program: from then on it is traced separately, or not at all.
    0x8003 forked Forked {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Process number of the child.
        process: word,
        /// Number that later commands use for the child: `debuggee` while it shares the memory, 0 if it is not traced and has no
        /// breakpoint.
        child: word,
    }

    /// A traced process executed another program, of which no instruction has run. The breakpoints are gone. One thread is left, whose
    /// number is the process's. The process stays traced if the channel's opener may trace the new program, which is checked as in
    /// `attach`; otherwise `ended` follows.
    0x8004 executed Executed {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Number that `counts` uses for the previous program until `detach`; 0 if its counts are not kept.
        before: word,
    }

    /// A thread has ended. The last threads of a process may not be reported: `ended` covers them.
    0x8005 thread_ended ThreadEnded {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Thread number.
        thread: word,
    }

    /// A traced process has ended, or may no longer be traced. Its number is no longer valid.
    0x8006 ended Ended {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Status as in `wait`(2), or all bits set if the process lives and may no longer be traced.
        status: word,
    }

    /// A new thread exists, and has executed nothing yet.
    0x8007 thread_started ThreadStarted {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Thread number.
        thread: word,
    }

    /// A thread is about to make a system call (`report`). A call that a seccomp filter refuses may not be told.
    0x8008 syscall_entered SyscallEntered {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Thread number.
        thread: word,
        /// The call's number.
        number: word,
        /// The architecture whose numbers the call follows, as ELF's e_machine.
        machine: word,
        /// Six words: the arguments, also those that the call does not take.
        arguments: blob,
    }

    /// A system call has ended (`report`). Calls that execute a program, end the thread or return from a signal handler have no such event.
    0x8009 syscall_returned SyscallReturned {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Thread number.
        thread: word,
        /// The call's number.
        number: word,
        /// The architecture whose numbers the call follows, as ELF's e_machine.
        machine: word,
        /// What the call returned. From -4095 to -1 it is a negative error number. From -516 to -512 something interrupted the call: unless
        /// `signal` says otherwise, the kernel begins it once more, which is another event.
        result: word,
        /// Number of the signal whose handler the thread enters next; 0 for none.
        signal: word,
        /// Six words: the arguments, as they were at the call's beginning.
        arguments: blob,
    }

    /// A signal is about to be delivered to a thread (`report`). Signals that are ignored when they are sent are not delivered.
    0x800a signalled Signalled {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Thread number.
        thread: word,
        /// Number of the signal.
        number: word,
        /// The kernel's `siginfo_t` without the padding at its end.
        info: blob,
    }

    /// A thread accessed watched memory (`watch`), and is about to be held. The access is made, except of an instruction's execution.
    0x800b watched Watched {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Process, by the number that `attach` or an event gave.
        debuggee: word,
        /// Thread number.
        thread: word,
        /// Number of the watchpoint.
        watch: word,
        /// Its address.
        address: word,
    }

    /// A process executed a program that a rule of `follow` names. None of its instructions has run. If the rule has that option, its thread is
    /// about to be held with reason 4.
    0x800c followed Followed {
        /// Time in nanoseconds (`CLOCK_MONOTONIC`).
        time: word,
        /// Number that later commands use for the process; 0 if it is not traced for lack of memory or room.
        debuggee: word,
        /// Number of the process that executed it.
        process: word,
        /// Number of the rule.
        follow: word,
    }
}
