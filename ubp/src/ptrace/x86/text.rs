//! Writes to text in which threads run.

/// The alignment of written pieces of text: none, because a single byte changes.
pub(in crate::ptrace) const GRANULE: u64 = 1;
