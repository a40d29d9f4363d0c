//! Events: what the kernel tells by itself.

use crate::declare::{field, kind, parameters, unfield, value};
use crate::{Declaration, Documentation, Error, Header, Message, Sink, encode};

/// The first code of an event.
pub const FIRST: u16 = 0x8000;

/// Declares events: the code, the name, the variant and what it carries.
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

        /// What they are documented with, in the same order.
        pub const DOCUMENTATION: &[Documentation] = &[$(Documentation {
            lines: &[$($doc,)*],
            fields: &[$(&[$($field_doc,)*],)*],
            reply: &[],
        },)*];

        /// An event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event<'a> {
            $($(#[doc = $doc])* $Name { $($(#[doc = $field_doc])* $field: value!('a $kind),)* },)*
        }

        impl<'a> Event<'a> {
            /// The event of a message; its tag is the sequence number.
            ///
            /// # Errors
            /// No event has its code, or the fields do not fit.
            pub fn parse(message: &Message<'a>) -> Result<Event<'a>, Error> {
                match message.header.code {
                    $($code => {
                        let [$($field),*] = message.fields(&[$(kind!($kind)),*])?;
                        Ok(Event::$Name { $($field: unfield!($kind, $field),)* })
                    })*
                    code => Err(Error::Code(code)),
                }
            }

            /// Its code.
            pub const fn code(&self) -> u16 {
                match self {
                    $(Event::$Name { .. } => $code,)*
                }
            }

            /// Writes it with its sequence number.
            ///
            /// # Errors
            /// The sink's, or none where it is longer than a message may be.
            pub fn encode<S: Sink>(&self, sink: &mut S, sequence: u64) -> Result<(), Option<S::Error>> {
                let header = Header { code: self.code(), flags: 0, tag: sequence };
                match *self {
                    $(Event::$Name { $($field),* } => encode(sink, header, &[$(field!($kind, $field)),*]),)*
                }
            }
        }
    };
}

events! {
    /// Events were lost for want of room: as many as the sequence numbers before this one leave out.
    0x8000 lost Lost {
        /// How many.
        count: word,
    }

    /// A thread came to a breakpoint whose action is to record.
    0x8001 hit Hit {
        /// Nanoseconds of the monotonic clock.
        time: word,
        /// The process.
        debuggee: word,
        /// The thread.
        thread: word,
        /// The breakpoint's address.
        address: word,
        /// Its hits so far, this one included.
        count: word,
        /// As `registers` gives them; empty unless asked for.
        registers: blob,
        /// As the breakpoint says; empty unless asked for.
        memory: blob,
    }

    /// A thread is held, and runs when it is told to.
    0x8002 held Held {
        /// Nanoseconds of the monotonic clock.
        time: word,
        /// The process.
        debuggee: word,
        /// The thread.
        thread: word,
        /// Why: 1 a breakpoint, 2 a step is done, 3 `hold`, 4 it executed another program, 5 it has just begun.
        reason: word,
        /// Where.
        address: word,
    }

    /// A traced process made another one, which has run nothing yet. The copy that `fork` made has its own copy of the breakpoints where
    /// children are traced, whose hits are counted on from those so far, and none else. One that shares the memory (`vfork`) is traced
    /// with it, and is told of again when it executes a program: then it is traced by itself, or not at all.
    0x8003 forked Forked {
        /// Nanoseconds of the monotonic clock.
        time: word,
        /// The process.
        debuggee: word,
        /// The number of the new one.
        process: word,
        /// What later commands name it by, the same as `debuggee` while it shares its memory; 0 where it is not traced, and has no
        /// breakpoint.
        child: word,
    }

    /// A traced process runs another program, of which nothing has run; its breakpoints are gone. Of its threads one is left, which has the
    /// process' number now. It is followed where the opener may trace the new program, which is asked as `attach` asks, by a thread of
    /// the kernel; else the process counts as ended.
    0x8004 executed Executed {
        /// Nanoseconds of the monotonic clock.
        time: word,
        /// The process.
        debuggee: word,
        /// What commands name the memory of the program before by, until it is detached; 0 where that is not kept.
        before: word,
    }

    /// A thread has ended. The last ones of a process may go untold: `ended` says it of all.
    0x8005 thread_ended ThreadEnded {
        /// Nanoseconds of the monotonic clock.
        time: word,
        /// The process.
        debuggee: word,
        /// The thread.
        thread: word,
    }

    /// A traced process has ended, or may be traced no longer. Its number means nothing any more.
    0x8006 ended Ended {
        /// Nanoseconds of the monotonic clock.
        time: word,
        /// The process.
        debuggee: word,
        /// As `wait` has it; all bits where it lives and may be traced no longer.
        status: word,
    }

    /// A thread has begun, and has run nothing yet.
    0x8007 thread_started ThreadStarted {
        /// Nanoseconds of the monotonic clock.
        time: word,
        /// The process.
        debuggee: word,
        /// The thread.
        thread: word,
    }
}
