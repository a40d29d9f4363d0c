//! How a command ended.

use core::fmt;

macro_rules! statuses {
    ($($(#[doc = $doc:literal])* $name:ident = $number:literal $text:literal,)*) => {
        /// How a command ended. Numbers never change; they are no error numbers of the system's.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Status {
            $($(#[doc = $doc])* $name = $number,)*
        }

        impl Status {
            /// All of them.
            pub const ALL: &'static [Status] = &[$(Status::$name,)*];

            /// The status of a number.
            pub fn from_number(number: u64) -> Option<Status> {
                match number {
                    $($number => Some(Status::$name),)*
                    _ => None,
                }
            }

            /// What it means, in a few words.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Status::$name => $text,)*
                }
            }

            /// What it and its detail mean, as documented.
            pub const fn documentation(self) -> &'static [&'static str] {
                match self {
                    $(Status::$name => &[$($doc,)*],)*
                }
            }
        }
    };
}

statuses! {
    /// It did all it was asked. The fields of the reply are there.
    Done = 0 "done",
    /// The command before it, which had the flag `then`, was not done.
    Skipped = 1 "not carried out: the one before failed",
    /// No command has that code, which is the detail. The vocabulary of the other side is older.
    Unknown = 2 "no such command",
    /// The fields do not fit the declaration. The detail says how many fields there are.
    Malformed = 3 "fields do not fit the declaration",
    /// A word has a value that is none of those it may have. The detail is the field's number, from 0.
    Value = 4 "no such value",
    /// The opener of the channel may not trace that process.
    Denied = 5 "not permitted",
    /// No such process, or it has ended. The detail is its number.
    NoProcess = 6 "no such process",
    /// No such thread, or it has ended. The detail is its number.
    NoThread = 7 "no such thread",
    /// No breakpoint of this session is at that address, which is the detail.
    NoBreakpoint = 8 "no breakpoint there",
    /// The thread is not held, and what was asked can be done with a held thread only.
    NotHeld = 9 "the thread is not held",
    /// Memory that is not mapped, or not so. The detail is the first such address.
    Memory = 10 "no such memory",
    /// No breakpoint can be set on that instruction. The detail is the reason, as `stepping` numbers them.
    Refused = 11 "no breakpoint can be set on that instruction",
    /// Something is there already.
    Exists = 12 "it is there already",
    /// The kernel has no memory for it, or the process no addresses for what is to be mapped there; then the detail is an address near
    /// which that was to be.
    NoMemory = 13 "out of memory",
    /// More than a session, a debuggee or a message may have. The detail is the limit.
    Limit = 14 "more than there may be",
    /// This kernel or processor cannot do it.
    Unsupported = 15 "not supported here",
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Why a command was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Never [`Status::Done`].
    pub status: Status,
    /// What the status says of it.
    pub detail: u64,
}

impl Failure {
    /// A failure with its detail.
    pub const fn new(status: Status, detail: u64) -> Failure {
        Failure { status, detail }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        Failure::new(status, 0)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#x})", self.status, self.detail)
    }
}

impl core::error::Error for Failure {}
