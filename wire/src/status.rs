//! How a command ended.

use core::fmt;

macro_rules! statuses {
    ($($(#[doc = $doc:literal])* $name:ident = $number:literal $text:literal,)*) => {
        /// How a command ended. Numbers never change. They are not errno values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Status {
            $($(#[doc = $doc])* $name = $number,)*
        }

        impl Status {
            /// All statuses, in the order of their numbers.
            pub const ALL: &'static [Status] = &[$(Status::$name,)*];

            /// The status with the given number.
            pub fn from_number(number: u64) -> Option<Status> {
                match number {
                    $($number => Some(Status::$name),)*
                    _ => None,
                }
            }

            /// The status in a few words.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Status::$name => $text,)*
                }
            }

            /// The meaning of the status and of its detail, in lines.
            pub const fn documentation(self) -> &'static [&'static str] {
                match self {
                    $(Status::$name => &[$($doc,)*],)*
                }
            }
        }
    };
}

statuses! {
    /// The command was carried out. The reply has its fields.
    Done = 0 "done",
    /// The previous command has the flag `then` and failed.
    Skipped = 1 "not carried out: the one before failed",
    /// No command has this code, which is the detail. The module's vocabulary is older than the sender's.
    Unknown = 2 "no such command",
    /// The fields do not fit the declaration. The detail is the number of declared fields.
    Malformed = 3 "fields do not fit the declaration",
    /// A word has an undefined value. The detail is the field's number, counted from 0.
    Value = 4 "no such value",
    /// The process that opened the channel may not trace this process.
    Denied = 5 "not permitted",
    /// No such process, or it has ended. The detail is the process number.
    NoProcess = 6 "no such process",
    /// No such thread, or it has ended. The detail is the thread number.
    NoThread = 7 "no such thread",
    /// This session has no breakpoint at the address, which is the detail.
    NoBreakpoint = 8 "no breakpoint there",
    /// The thread is not held, and the command needs a held thread. The detail is the thread number.
    NotHeld = 9 "the thread is not held",
    /// Memory is not mapped, or its protection does not allow the access. The detail is the first such address.
    Memory = 10 "no such memory",
    /// No breakpoint can be set on the instruction. The detail is the number of the reason (`Refusal::number` of the crate stepping).
    Refused = 11 "no breakpoint can be set on that instruction",
    /// This session already has a breakpoint at the address, which is the detail.
    Exists = 12 "it is there already",
    /// The kernel is out of memory, or the process has no free addresses where a mapping is needed; then the detail is an address
    /// near which it is needed.
    NoMemory = 13 "out of memory",
    /// A limit of a session, a process or a message is exceeded. The detail is the limit.
    Limit = 14 "more than there may be",
    /// This kernel or processor does not support the command.
    Unsupported = 15 "not supported here",
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The reason why a command was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Never [`Status::Done`].
    pub status: Status,
    /// Detail, whose meaning depends on the status.
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
