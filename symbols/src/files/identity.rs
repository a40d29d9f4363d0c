//! The identity of a file and of its state.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The age in seconds after which the times of a state are final.
const SETTLED: i64 = 2;

/// A state of a file. Two states are equal if nobody wrote to the file in between.
///
/// File systems reuse inode numbers, and a file that is written in place keeps its number; the times and the size distinguish such states.
/// A program can set the time of the last modification, but not the time of the last status change (stat(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    /// `st_dev`.
    pub(crate) device: u64,
    /// `st_ino`.
    pub(crate) inode: u64,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The time of the last modification: seconds and nanoseconds.
    modified: (i64, i64),
    /// The time of the last status change: seconds and nanoseconds.
    changed: (i64, i64),
}

impl Identity {
    /// Returns the state of an open file.
    pub(crate) fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the state is old enough that a write to the file now leads to another state. File systems store times with a limited
    /// resolution, the coarsest with two seconds.
    pub(crate) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64);
        now.saturating_sub(self.changed.0) > SETTLED
    }

    /// Whether size and modification time are those of a later state. A program that sets the modification time can hide a write.
    pub(crate) fn is_unwritten(&self, later: &Identity) -> bool {
        self.is_same_file(later) && (self.size, self.modified) == (later.size, later.modified)
    }

    /// Whether both are states of the same file.
    pub(crate) fn is_same_file(&self, other: &Identity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}
