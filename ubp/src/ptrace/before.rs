//! A thread before a single step.

/// Where a thread was, and what it had set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Before {
    pub(super) pc: u64,
    pub(super) sp: u64,
    /// The program had set its own trap flag.
    pub(super) traced: bool,
}
