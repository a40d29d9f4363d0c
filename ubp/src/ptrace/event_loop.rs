//! The event loop.

use super::Tracer;
use crate::{Event, Result};

impl Tracer {
    /// Handles reports until there is an event for the user. `None`: there is none and `block` is not set, or no debuggee is
    /// left.
    pub(super) fn take_next_event(&mut self, block: bool) -> Result<Option<Event>> {
        self.reports.clear_wake();
        self.events.forget_told();
        loop {
            self.detach_orphans()?;
            if let Some(event) = self.events.take_event() {
                if self.events.has_more() {
                    self.reports.wake();
                }
                return Ok(Some(event));
            }
            if self.tracees.debuggees.is_empty() {
                if block {
                    self.reports.await_departing(&mut self.tracees)?;
                } else {
                    self.reports.collect_each(&mut self.tracees)?;
                }
                return Ok(None);
            }
            match self.reports.next_report(&mut self.tracees, block)? {
                Some((tid, report)) => self.handle_report(tid, report)?,
                None => return Ok(None),
            }
        }
    }
}
