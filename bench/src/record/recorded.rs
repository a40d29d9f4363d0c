//! What recorders give.

use std::time::Duration;

/// What a recorder did with one run of the program.
#[derive(Clone, Copy)]
pub(super) struct Recorded {
    pub(super) time: Duration,
    pub(super) instructions: u64,
    /// Of what was recorded, where that is a stream.
    pub(super) bytes: Option<u64>,
}
