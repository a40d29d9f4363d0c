//! Errors of traces.

use std::{fmt, io};

/// The result of functions that read or write a trace.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong with a trace, and where.
#[derive(Debug)]
pub struct Error {
    /// Offset of the record, in bytes from the start of the trace.
    pub offset: u64,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    Read(io::ErrorKind, String),
    /// The trace ends before its end record: the recorder was killed, or the file was cut. All items before are whole.
    Cut,
    /// These bytes do not begin a trace.
    NotATrace([u8; 8]),
    /// A format version that this reader does not know.
    Version(u64),
    /// Header flags that this reader does not know.
    Flags(u64),
    /// A processor that this reader does not know.
    Machine(u64),
    /// An unknown record that may not be skipped.
    Record(u8),
    /// A record of more bytes than are allowed.
    LongRecord(u64),
    /// A record ends within one of its fields.
    ShortRecord,
    /// A record goes on behind its last field; the number of bytes that are left.
    Excess(u64),
    /// A number of more than 64 bits, by its last byte.
    LargeNumber(u8),
    /// A process, thread or other id of more than 32 bits.
    LargeId(u64),
    /// An event that this reader does not know.
    Event(u64),
    /// A width of a code segment that is none of 0, 16, 32, 64.
    Bits(u64),
    /// A thread of which nothing was said before.
    Thread(u32),
    /// More threads or processes than can be.
    ManyThreads,
    /// An action of a flow that has no meaning.
    Action(u8),
    /// A run of more instructions than are allowed.
    LongRun(u64),
    /// At this address a successor is named that was never seen.
    Successor {
        /// The address.
        pc: u64,
        /// Which of its successors, the latest being 0.
        rank: u64,
    },
    /// A step has more bytes of code than an instruction can have; their number.
    LongCode(u64),
    /// A set of registers with unknown members.
    Registers(u64),
    /// The end record gives another number of instructions than were read.
    Count {
        /// In the record.
        told: u64,
        /// In the trace.
        seen: u64,
    },
}

impl Error {
    /// Whether the trace is right as far as it goes, and only was not brought to its end.
    pub fn is_cut(&self) -> bool {
        self.problem == Problem::Cut
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Read(_, what) => write!(f, "{what}"),
            Problem::Cut => write!(f, "the trace was cut here: its end is missing"),
            Problem::NotATrace(bytes) => write!(f, "not a trace: it begins with {bytes:02x?}"),
            Problem::Version(version) => {
                write!(f, "format version {version}; this reader knows version {}", crate::format::VERSION)
            }
            Problem::Flags(flags) => write!(f, "unknown header flags {flags:#x}"),
            Problem::Machine(machine) => write!(f, "unknown processor {machine}"),
            Problem::Record(kind) => write!(f, "unknown record {kind:#04x}"),
            Problem::LongRecord(length) => write!(f, "a record of {length} bytes"),
            Problem::ShortRecord => write!(f, "the record ends within a field"),
            Problem::Excess(left) => write!(f, "{left} bytes behind the record's last field"),
            Problem::LargeNumber(byte) => write!(f, "a number of more than 64 bits, ending with {byte:#04x}"),
            Problem::LargeId(id) => write!(f, "id {id} has more than 32 bits"),
            Problem::Event(kind) => write!(f, "unknown event {kind}"),
            Problem::Bits(bits) => write!(f, "a code segment of {bits} bits"),
            Problem::Thread(tid) => write!(f, "thread {tid} has not been started"),
            Problem::ManyThreads => write!(f, "too many threads"),
            Problem::Action(action) => write!(f, "unknown action {action}"),
            Problem::LongRun(run) => write!(f, "a run of {run} instructions"),
            Problem::Successor { pc, rank } => write!(f, "{pc:#x} has no successor number {rank}"),
            Problem::LongCode(length) => write!(f, "{length} bytes of code in one record"),
            Problem::Registers(set) => write!(f, "unknown registers {set:#x}"),
            Problem::Count { told, seen } => write!(f, "{told} instructions announced, {seen} found"),
        }
    }
}

impl std::error::Error for Error {}
