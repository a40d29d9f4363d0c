//! Steps of a scan from one instruction to the next: what [`super::liveness`] looks at of an instruction.

use super::Flags;

/// The flags that a scan considers: the arithmetic flags and the direction flag.
pub(super) const CONSIDERED: Flags = Flags::STATUS.union(Flags::DF);

/// What an instruction does to what a scan asks for, and where it leads.
pub(super) struct Step<W> {
    pub(super) read: W,
    pub(super) overwritten: W,
    pub(super) len: usize,
    pub(super) lead: Lead,
    /// The distance of the target from the end of the instruction.
    pub(super) distance: isize,
}

/// Where an instruction leads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// To the next one.
    Next,
    /// There, or to the target.
    Branch,
    /// To the target.
    Jump,
    /// To code that the scan does not follow.
    Away,
}
