use std::future::Future;
use std::io;

use crate::{Error, Event, Result, Session};

/// Waits for a session's descriptor: a registration with the reactor of an asynchronous run-time.
///
/// Register the descriptor ([`AsFd`](std::os::fd::AsFd) or [`AsRawFd`](std::os::fd::AsRawFd)) for reading. The example `tokio` does this with
/// tokio's `AsyncFd`.
pub trait Readiness {
    /// Waits until the descriptor is readable, or was made readable again since the last call. It may return more often.
    fn readable(&mut self) -> impl Future<Output = io::Result<()>>;
}

/// The events of a session for asynchronous code ([`Session::events`]).
///
/// The future of [`Events::next`] is not `Send`, because the session belongs to its thread: use a run-time of a single thread.
#[derive(Debug)]
pub struct Events<'s, R> {
    session: &'s mut Session,
    reactor: R,
}

impl<R: Readiness> Events<'_, R> {
    /// The next event; `None` if no debuggee is left. A future that is dropped before it is ready loses no event.
    ///
    /// # Errors
    /// The errors of [`Session::wait`], and [`Error::System`] with the call `readable` if the reactor fails.
    pub async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.session.poll()? {
                return Ok(Some(event));
            }
            if self.session.processes().next().is_none() {
                return Ok(None);
            }
            let ready = self.reactor.readable().await;
            ready.map_err(|source| Error::System { call: "readable", id: 0, source })?;
        }
    }

    /// The session, to answer an event.
    pub fn session(&mut self) -> &mut Session {
        self.session
    }
}

impl Session {
    /// The events of the session for asynchronous code. `reactor` waits for the descriptor of this session.
    pub fn events<R: Readiness>(&mut self, reactor: R) -> Events<'_, R> {
        Events { session: self, reactor }
    }
}
