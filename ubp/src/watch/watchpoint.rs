//! A watchpoint as the user knows it.

use std::fmt;

use crate::{Address, Pid};

/// A watchpoint of a process. Ids are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub(crate) u32);

impl fmt::Display for WatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The accesses that a watchpoint observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Access {
    /// Writes, also of the value that is there.
    Write,
    /// Reads and writes.
    ReadWrite,
    /// The execution of the instruction at the address, which the thread has not executed when it is held.
    Execute,
}

/// A watchpoint that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchError {
    /// The process.
    pub pid: Pid,
    /// The first byte to watch.
    pub address: Address,
    /// The number of bytes to watch.
    pub length: u64,
    /// Why.
    pub reason: WatchReason,
}

/// Why a watchpoint was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchReason {
    /// The length cannot be watched. This one can: 1 byte for [`Access::Execute`] on x86, 4 on arm64.
    Length {
        /// A length that can be watched.
        possible: u64,
    },
    /// The address is no multiple of this number.
    Misaligned {
        /// The alignment of an instruction.
        alignment: u64,
    },
    /// The range is not memory that a program can have.
    NotMemory,
    /// Too few debug registers are free. Each observes 8 aligned bytes at most; on x86 the lengths are 1, 2, 4 and 8.
    NoneFree {
        /// The number of registers that the range needs.
        needed: usize,
        /// The number of registers that the processor has for such an access.
        present: usize,
        /// The watchpoints that use the others.
        holders: Vec<WatchId>,
    },
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WatchError { pid, address, length, reason } = self;
        write!(f, "cannot watch {length} bytes at {address} of process {pid}: ")?;
        match reason {
            WatchReason::Length { possible } => write!(f, "the length must be {possible}"),
            WatchReason::Misaligned { alignment } => write!(f, "the address must be a multiple of {alignment}"),
            WatchReason::NotMemory => f.write_str("a program has no memory there"),
            WatchReason::NoneFree { needed, present, holders } => {
                write!(f, "it needs {needed} debug registers of {present}")?;
                for (at, id) in holders.iter().enumerate() {
                    write!(f, "{}{id}", if at == 0 { "; others are used by the watchpoints " } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for WatchError {}
