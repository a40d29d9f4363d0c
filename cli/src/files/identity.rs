//! Which file it is, and which state of it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds after which a state is known to be over with its time.
const SETTLED: i64 = 2;

/// A state of a file: equal where nobody wrote to it in between.
///
/// Inode numbers are given out again, and a file written in place keeps its own; the times and the size tell such states apart. The
/// time of the last status change cannot be set by a program (stat(2)), unlike that of the last modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    /// `st_dev`.
    pub(crate) device: u64,
    /// `st_ino`.
    pub(crate) inode: u64,
    /// In bytes.
    pub(crate) size: u64,
    /// Last modification: seconds and nanoseconds.
    modified: (i64, i64),
    /// Last status change: seconds and nanoseconds.
    changed: (i64, i64),
}

impl Identity {
    /// That of an open file.
    pub(crate) fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether it was so long ago that whoever writes to the file now leaves another state: file systems count time in steps, the
    /// coarsest in two seconds.
    pub(crate) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64);
        now.saturating_sub(self.changed.0) > SETTLED
    }

    /// Whether nobody wrote to the file in between, as far as it is known: a program can set the time of the last modification.
    pub(crate) fn is_unwritten(&self, later: &Identity) -> bool {
        self.is_same_file(later) && (self.size, self.modified) == (later.size, later.modified)
    }

    /// Whether both are states of one file.
    pub(crate) fn is_same_file(&self, other: &Identity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}
