//! The clock of records.

use std::collections::HashMap;
use std::time::Duration;

use super::arch;
use crate::Tid;
use crate::clock::monotonic;

/// The relation between the clock of records and `CLOCK_MONOTONIC`.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// A time by both clocks.
    pub(super) known: (u64, Duration),
    /// The latest time that was told of each thread.
    pub(super) told: HashMap<Tid, Duration>,
}

impl Clock {
    pub(super) fn new() -> Clock {
        Clock { known: now(), told: HashMap::new() }
    }
}

/// The time by both clocks.
pub(super) fn now() -> (u64, Duration) {
    let (before, time, behind) = (arch::ticks(), monotonic(), arch::ticks());
    (before + behind.saturating_sub(before) / 2, time)
}
