//! What the worker tells the view, through a pipe.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::pipe2;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};

/// The longest wait for a view that reads nothing, in milliseconds. The program is not traced any more then.
const LAST_WAIT: u16 = 5_000;

/// A message, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Told {
    Snapshot(Snapshot),
    /// A line for the terminal, when the view is gone.
    Line(String),
}

/// The changes of the counts after the last snapshot.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Snapshot {
    /// Seconds since the start.
    pub(super) time: f64,
    pub(super) processes: usize,
    /// The locations that had no hit before. They are numbered in this order, from 0 on.
    pub(super) new: Vec<String>,
    /// The hits of locations, by number.
    pub(super) hits: Vec<(usize, u64)>,
}

/// The worker's end. It never waits for the view while it traces.
pub(super) struct Feed {
    pipe: File,
    pending: Vec<u8>,
}

/// The view's end.
pub(super) struct Inbox {
    pipe: File,
    pending: Vec<u8>,
}

/// A pipe. Neither end waits.
pub(super) fn pipe() -> Result<(Inbox, Feed)> {
    let made = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK);
    let (out, into) = made.map_err(|error| Failure::own(format!("pipe: {error}")))?;
    Ok((Inbox { pipe: out.into(), pending: Vec::new() }, Feed { pipe: into.into(), pending: Vec::new() }))
}

impl Feed {
    /// Whether all that was told before is on its way.
    pub(super) fn is_ready(&mut self) -> bool {
        self.flush();
        self.pending.is_empty()
    }

    pub(super) fn tell(&mut self, told: &Told) {
        // The values have no maps, so that each has a form in JSON.
        if serde_json::to_writer(&mut self.pending, told).is_ok() {
            self.pending.push(b'\n');
        }
        self.flush();
    }

    /// Waits until the view has read everything, or reads nothing for some seconds.
    pub(super) fn finish(&mut self) {
        while !self.is_ready() {
            let mut fds = [PollFd::new(self.pipe.as_fd(), PollFlags::POLLOUT)];
            match poll(&mut fds, PollTimeout::from(LAST_WAIT)) {
                Ok(0) => return,
                _ => continue,
            }
        }
    }

    fn flush(&mut self) {
        while !self.pending.is_empty() {
            match self.pipe.write(&self.pending) {
                Ok(written) => drop(self.pending.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The view is gone.
                Err(_) => self.pending.clear(),
            }
        }
    }
}

impl Inbox {
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// The messages that arrived after the last call, without waiting.
    pub(super) fn take(&mut self) -> Vec<Told> {
        let mut bytes = [0; 1 << 16];
        loop {
            match self.pipe.read(&mut bytes) {
                Ok(read) if read > 0 => self.pending.extend(bytes.iter().take(read)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        let Some(end) = self.pending.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let whole: Vec<u8> = self.pending.drain(..=end).collect();
        whole.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_that_does_not_read_stops_nobody_and_loses_nothing() {
        let (mut inbox, mut feed) = pipe().unwrap();
        let line = "x".repeat(10_000);
        let mut told = 0;
        while feed.is_ready() {
            feed.tell(&Told::Line(line.clone()));
            told += 1;
        }
        let mut read = 0;
        while read < told {
            read += inbox.take().len();
            feed.flush();
        }
        assert_eq!((read, feed.is_ready()), (told, true));
        drop(inbox);
        feed.tell(&Told::Line(line));
        feed.finish();
    }
}
