//! Places in register sets.

use std::ops::Range;

use super::set::RegisterSet;

/// Where some bytes of a register lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) set: RegisterSet,
    pub(crate) range: Range<usize>,
    /// The bit of the state component in `XSTATE_BV` (SDM vol. 1, 13.4.2), where the set has such a header.
    pub(crate) component: u64,
}
