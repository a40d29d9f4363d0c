//! Sends snapshots to a collector. A thread does it, so that a collector that does not answer stops nobody.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};
use std::{error, io};

use ureq::Agent;

use super::board::Board;
use super::otlp;
use super::resource::Attributes;
use super::snapshot::Snapshot;
use crate::output::tell;
use crate::thread;

/// The longest time that a message may take, by the specification.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest wait at the end for the last message.
const LAST_WAIT: Duration = Duration::from_secs(3);
/// The most bytes of a collector's answer.
const LONGEST: u64 = 64 << 10;

/// Where to send, how often, and as whom.
pub(super) struct Destination {
    pub(super) url: String,
    pub(super) interval: Duration,
    pub(super) attributes: Attributes,
}

/// A thread that sends.
pub(super) struct Pusher {
    url: String,
    /// The thread's end closes the channel.
    end: Receiver<()>,
}

/// What the thread has.
struct Work {
    destination: Destination,
    board: Arc<Board>,
    agent: Agent,
    start: SystemTime,
    /// Whether the user knows that messages are lost.
    is_told: bool,
}

impl Pusher {
    /// # Errors
    /// There can be no thread.
    pub(super) fn start(destination: Destination, board: Arc<Board>) -> io::Result<Pusher> {
        let (open, end) = channel();
        let url = destination.url.clone();
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            // A collector on this host is reached directly.
            .proxy(None)
            .max_redirects(0)
            .user_agent(concat!("ntrace/", env!("CARGO_PKG_VERSION")));
        let agent = config.build().new_agent();
        let work = Work { destination, board, agent, start: SystemTime::now(), is_told: false };
        thread::spawn("otlp", move || {
            work.run();
            drop(open);
        })?;
        Ok(Pusher { url, end })
    }

    /// Waits until the last snapshot was sent, or for some seconds. The board must have ended.
    pub(super) fn finish(self) {
        if self.end.recv_timeout(LAST_WAIT) == Err(RecvTimeoutError::Timeout) {
            tell(format_args!("{}: the collector did not answer in time, and may lack the last numbers", self.url));
        }
    }
}

impl Work {
    fn run(mut self) {
        while !self.board.is_over_within(self.destination.interval) {
            self.send();
        }
        self.send();
    }

    fn send(&mut self) {
        let Some(snapshot) = self.board.fresh() else { return };
        if let Err(error) = self.post(&snapshot) {
            if !self.is_told {
                let url = &self.destination.url;
                tell(format_args!("{url}: numbers did not arrive, and later ones may not: {error}"));
            }
            self.is_told = true;
        }
    }

    fn post(&self, snapshot: &Snapshot) -> Result<(), Box<dyn error::Error>> {
        let Destination { url, attributes, .. } = &self.destination;
        let message = otlp::message(snapshot, attributes, self.start);
        let mut answer = self.agent.post(url).content_type(otlp::TYPE).send(&message[..])?;
        let body = answer.body_mut().with_config().limit(LONGEST).read_to_vec()?;
        otlp::rejection(&body).map_or(Ok(()), |rejection| Err(rejection.into()))
    }
}
