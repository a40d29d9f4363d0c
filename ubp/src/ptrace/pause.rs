//! How long the tracer waits between two looks.

use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// The first pause between two looks at something that no wait of the kernel's tells of.
const SHORTEST: Duration = Duration::from_micros(20);

/// Pauses that become longer, for looks at something that no wait of the kernel's tells of.
#[derive(Debug)]
pub(super) struct Pause(Duration);

impl Pause {
    pub(super) fn new() -> Pause {
        Pause(SHORTEST)
    }

    /// Sleeps, for `longest` at most. The next pause is longer.
    pub(super) fn sleep(&mut self, longest: Duration) {
        thread::sleep(self.0.min(longest));
        self.0 = (self.0 * 2).min(longest.max(SHORTEST));
    }

    /// Whether the pauses have become longer than what a thread needs to stop.
    pub(super) fn is_long(&self) -> bool {
        self.0 > SHORTEST * 64
    }
}

/// When the tracer polls for a report before it sleeps.
///
/// Waking a processor that sleeps takes longer than all else at a hit. A tracer that polls meanwhile is there when the thread
/// stops, and the thread's processor has not slept long. Where polling does not help (the thread needs this processor, or does
/// something else) the tracer polls before ever fewer waits.
#[derive(Debug)]
pub(super) struct Polling {
    limit: Duration,
    /// The number of polls in a row that found no report.
    failures: u32,
    /// The number of waits before the next poll.
    skipped: u32,
}

/// At most two to the power of this number of waits come between two polls.
const MOST_FAILURES: u32 = 10;

impl Polling {
    /// Polls for `limit` at most; zero: never.
    pub(super) fn new(limit: Duration) -> Polling {
        Polling { limit, failures: 0, skipped: 0 }
    }

    /// Calls `look` until it finds something.
    pub(super) fn poll<T>(&mut self, mut look: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
        if self.limit.is_zero() {
            return Ok(None);
        }
        if self.skipped > 0 {
            self.skipped -= 1;
            return Ok(None);
        }
        let start = Instant::now();
        loop {
            let found = look()?;
            if found.is_some() {
                self.failures = 0;
                return Ok(found);
            }
            if start.elapsed() >= self.limit {
                self.failures = (self.failures + 1).min(MOST_FAILURES);
                self.skipped = (1 << self.failures) - 1;
                return Ok(None);
            }
        }
    }
}
