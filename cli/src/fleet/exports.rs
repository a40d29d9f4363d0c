//! The numbers of a run on their way to others, as the tracing thread sees them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::board::Board;
use super::push::{Destination, Pusher};
use super::server::Server;
use super::snapshot::Snapshot;
use super::{resource, url};
use crate::args::ExportArgs;
use crate::door;
use crate::failure::{Failure, Result};
use crate::output::tell;

/// The longest time until the tracing thread sees that somebody asked for a snapshot.
const TICK: Duration = Duration::from_millis(250);

/// The threads that give the numbers of a run to others.
pub(crate) struct Exports {
    board: Arc<Board>,
    server: Option<Server>,
    pusher: Option<Pusher>,
}

impl Exports {
    /// Starts what the user asked for. Tells where metrics are.
    ///
    /// # Errors
    /// An address or a variable is wrong, or nobody can listen at the address.
    pub(crate) fn start(args: &ExportArgs) -> Result<Exports> {
        let fail = |what: &'static str| move |error: io::Error| Failure::own(format!("{what}: {error}"));
        let board = Arc::new(Board::default());
        let destination = args.otlp.as_deref().map(destination).transpose()?;
        let mut server = None;
        if let Some(address) = &args.serve {
            let listener = door::listen(address, "an address for --serve is [HOST]:PORT")?;
            let address = listener.local_addr().map_err(fail("--serve"))?;
            server = Some(Server::start(listener, Arc::clone(&board)).map_err(fail("--serve"))?);
            tell(format_args!("metrics at http://{address}/metrics"));
        }
        let push = |destination| Pusher::start(destination, Arc::clone(&board)).map_err(fail("--otlp"));
        let pusher = destination.map(push).transpose()?;
        Ok(Exports { board, server, pusher })
    }

    /// The longest time between two calls of [`Exports::put_if_wanted`]. `None`: nobody ever asks.
    pub(crate) fn tick(&self) -> Option<Duration> {
        (self.server.is_some() || self.pusher.is_some()).then_some(TICK)
    }

    /// Gives a snapshot to those who asked for one, if somebody did.
    pub(crate) fn put_if_wanted(&self, snapshot: impl FnOnce() -> Snapshot) {
        if self.board.is_wanted() {
            self.board.put(snapshot());
        }
    }

    /// Gives the last snapshot to the collector, and answers no more requests.
    pub(crate) fn put_last(&mut self, last: impl FnOnce() -> Snapshot) {
        if self.pusher.is_some() {
            self.board.put(last());
        }
        self.board.end();
        self.server = None;
    }

    /// Waits for the collector, not for long. [`Exports::put_last`] comes before it.
    pub(crate) fn finish(self) {
        if let Some(pusher) = self.pusher {
            pusher.finish();
        }
    }
}

fn destination(text: &str) -> Result<Destination> {
    Ok(Destination {
        url: url::of_metrics(text)?,
        interval: resource::interval()?,
        attributes: resource::attributes()?,
    })
}
