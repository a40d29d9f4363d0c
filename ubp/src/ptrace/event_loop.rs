//! The event loop.

use super::Tracer;
use crate::backend::Blocking;
use crate::{Event, Result};

impl Tracer {
    /// Handles reports until there is an event for the user. `None`: there is none and the call may not block, or no debuggee is
    /// left.
    pub(super) fn take_next_event(&mut self, blocking: Blocking<'_>) -> Result<Option<Event>> {
        self.reports.clear_wake();
        self.events.forget_told();
        let event = self.find_event(blocking);
        match event {
            // The next look at the descriptor shall lead to the next call.
            Ok(Some(_)) | Err(_) => self.reports.wake(),
            Ok(None) => self.reports.arm(&self.tracees),
        }
        event
    }

    fn find_event(&mut self, blocking: Blocking<'_>) -> Result<Option<Event>> {
        loop {
            self.detach_orphans()?;
            self.clear_unwanted_jumps()?;
            if let Some(event) = self.events.take_event() {
                return Ok(Some(event));
            }
            if self.tracees.debuggees.is_empty() {
                if blocking.may_block() {
                    self.reports.await_departing(&mut self.tracees, blocking)?;
                } else {
                    self.reports.collect_each(&mut self.tracees)?;
                }
                return Ok(None);
            }
            match self.reports.next_report(&mut self.tracees, blocking)? {
                Some((tid, report)) => self.handle_report(tid, report)?,
                None if self.tracees.debuggees.is_empty() && blocking.may_block() => {}
                None => return Ok(None),
            }
        }
    }
}
