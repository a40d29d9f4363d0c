//! A process that ntrace attaches to, before its breakpoints are set.

use ubp::{Error, EventKind, Pid, Session, Tid};

use crate::output::TICK;
use crate::worker::{Control, Woken};

/// A process that ran before ntrace attached to it.
pub(super) struct Running<'a> {
    pid: Pid,
    held: Option<Tid>,
    control: &'a mut Control,
    /// Whether the front asked to stop.
    cancelled: bool,
}

impl Running<'_> {
    /// `held`: the thread of the process that is held already.
    pub(super) fn new(pid: Pid, held: Option<Tid>, control: &mut Control) -> Running<'_> {
        Running { pid, held, control, cancelled: false }
    }

    /// Returns a held thread. The first call interrupts the process; the stops of its other threads follow as events.
    ///
    /// `None` means that the front asked to stop. That ends the wait for a thread that does not return from the kernel.
    pub(super) fn hold(&mut self, session: &mut Session) -> ubp::Result<Option<Tid>> {
        if self.held.is_some() || self.cancelled {
            return Ok(self.held);
        }
        session.interrupt(self.pid)?;
        loop {
            let event = match session.poll()? {
                Some(event) => event,
                None if session.process(self.pid).is_none() => return Err(Error::NoSuchProcess(self.pid)),
                None => match self.control.wait(session, Some(TICK)) {
                    Ok(Woken::Event(event)) => event,
                    Ok(Woken::Nothing) => continue,
                    // An error of the pipe means that the front has ended.
                    Ok(Woken::Notice(_)) | Err(_) => {
                        self.cancelled = true;
                        return Ok(None);
                    }
                },
            };
            if event.pid == self.pid && matches!(event.kind, EventKind::Interrupted) {
                self.held = Some(event.tid);
                return Ok(self.held);
            }
            if event.is_held() {
                session.resume(event.tid)?;
            }
        }
    }

    /// The held thread, if a thread was held.
    pub(super) fn held(&self) -> Option<Tid> {
        self.held
    }

    /// Whether the front asked to stop.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled
    }
}
