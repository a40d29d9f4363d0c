//! The numbers of the format, which docs/recording.md describes.

/// The first bytes of a trace. The last four reveal a transfer that converted it as text.
pub(crate) const MAGIC: [u8; 8] = *b"NTRC\r\n\x1a\n";
/// The version that this crate writes and reads.
pub(crate) const VERSION: u64 = 1;
/// Header flag: registers are recorded.
pub(crate) const FLAG_REGISTERS: u64 = 1;

/// The most bytes that a record may have behind its length.
pub(crate) const MOST_RECORD: u64 = 1 << 20;
/// The most bytes of code in one record.
pub(crate) const MOST_CODE: usize = 64;
/// The most instructions of one token's run.
pub(crate) const MOST_RUN: u64 = 4095;
/// The most successors of an instruction that are remembered.
pub(crate) const MOST_SUCCESSORS: usize = 64;
/// The most threads that may be alive at once.
pub(crate) const MOST_THREADS: usize = 1 << 16;

/// Processors: x86 by their vendor, others as an ELF header has them (`e_machine`).
pub(crate) mod machine {
    pub(crate) const INTEL: u64 = 0;
    pub(crate) const AMD: u64 = 1;
    pub(crate) const AARCH64: u64 = 183;
}

/// Kinds of records. Unknown ones from [`kind::OPTIONAL`] on may be skipped.
pub(crate) mod kind {
    pub(crate) const FLOW: u8 = 1;
    pub(crate) const CODE: u8 = 2;
    pub(crate) const EVENT: u8 = 3;
    pub(crate) const MAPPING: u8 = 4;
    pub(crate) const END: u8 = 5;
    pub(crate) const OPTIONAL: u8 = 0x80;
}

/// Actions of a token, its lowest three bits; the others are its run.
pub(crate) mod action {
    /// No instruction after the run.
    pub(crate) const NONE: u8 = 0;
    /// To the latest successor but one.
    pub(crate) const SECOND: u8 = 1;
    /// To the latest successor but two.
    pub(crate) const THIRD: u8 = 2;
    /// To the successor of the rank that follows.
    pub(crate) const RANK: u8 = 3;
    /// To an address never gone to from here; the difference follows.
    pub(crate) const FRESH: u8 = 4;
    /// To an address that the recorder did not see.
    pub(crate) const UNSEEN: u8 = 5;
    /// The instruction began and did not complete.
    pub(crate) const UNFINISHED: u8 = 6;
}
/// A token's run that is this or more has the rest behind it.
pub(crate) const RUN_GOES_ON: u8 = 31;

/// Kinds of events.
pub(crate) mod event {
    pub(crate) const STARTED: u64 = 0;
    pub(crate) const BITS: u64 = 1;
    pub(crate) const SYSCALL: u64 = 2;
    pub(crate) const SIGNAL: u64 = 3;
    pub(crate) const EXEC: u64 = 4;
    pub(crate) const EXITED: u64 = 5;
    pub(crate) const KILLED: u64 = 6;
    pub(crate) const RELEASED: u64 = 7;
    pub(crate) const MOVED: u64 = 8;
}
