//! The result of a recorder.

use std::time::Duration;

/// The result of recording one run of the program.
#[derive(Clone, Copy)]
pub(super) struct Recorded {
    pub(super) time: Duration,
    pub(super) instructions: u64,
    /// The size of the recording, if it is a stream.
    pub(super) bytes: Option<u64>,
}
