//! How text is written while threads run in it.

/// What pieces of text begin and end at multiples of: what changes is a byte.
pub(in crate::ptrace) const GRANULE: u64 = 1;
