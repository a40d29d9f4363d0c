//! Answers requests for metrics. One thread has all connections, and waits for none of them.

use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::pipe2;

use super::board::Board;
use super::connection::{Connection, Next};
use super::prometheus::{self, TYPE};
use super::request::{Answer, Asked};
use super::snapshot::Snapshot;
use crate::thread;

/// The most connections at once. A further one takes the place of the oldest.
const CONNECTIONS: usize = 32;
/// The most connections that are accepted in a [`TURN`]. Others wait in the kernel.
const PACE: u32 = 50;
const TURN: Duration = Duration::from_secs(1);

/// A thread that answers requests. It ends with this.
pub(super) struct Server {
    /// Its end wakes the thread.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread has.
struct Work {
    listener: TcpListener,
    stop: OwnedFd,
    board: Arc<Board>,
    connections: Vec<Connection>,
    /// When the turn began, and how many connections may be accepted in it.
    turn: (Instant, u32),
    text: Text,
}

/// The text of the last snapshot that somebody asked for: the same text is made once.
#[derive(Default)]
struct Text {
    of: Option<Arc<Snapshot>>,
    plain: Option<Arc<[u8]>>,
    gzip: Option<Arc<[u8]>>,
}

impl Server {
    /// # Errors
    /// There can be no thread or no pipe.
    pub(super) fn start(listener: TcpListener, board: Arc<Board>) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        let (woken, stop) = pipe2(OFlag::O_CLOEXEC)?;
        let (connections, turn, text) = (Vec::new(), (Instant::now(), PACE), Text::default());
        let mut work = Work { listener, stop: woken, board, connections, turn, text };
        let thread = thread::spawn("metrics", move || while work.serve() {})?;
        Ok(Server { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Work {
    /// Waits for something to do, and does it. Returns whether there is more to do.
    fn serve(&mut self) -> bool {
        let accepts = self.may_accept();
        let mut waits: Vec<PollFd<'_>> = vec![
            PollFd::new(self.stop.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
        ];
        if !accepts {
            waits[1].set_events(PollFlags::empty());
        }
        waits.extend(self.connections.iter().map(|connection| PollFd::new(connection.as_fd(), connection.events())));
        let turn = (!accepts).then(|| TURN.saturating_sub(self.turn.0.elapsed()));
        let least = self.connections.iter().map(Connection::left).chain(turn).min();
        // A wait that is a little too long ends each deadline in one more round.
        let limit = least.map_or(PollTimeout::NONE, |least| {
            PollTimeout::try_from(least + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
        });
        if poll(&mut waits, limit).is_err() {
            // An interrupted wait is begun again.
            return true;
        }
        let ready: Vec<bool> = waits.iter().map(|wait| wait.any().unwrap_or(false)).collect();
        drop(waits);
        if ready.first() == Some(&true) {
            return false;
        }
        let mut ready_connections = ready.iter().skip(2);
        let (board, text) = (&self.board, &mut self.text);
        self.connections.retain_mut(|connection| {
            let is_ready = ready_connections.next() == Some(&true);
            !connection.left().is_zero() && (!is_ready || goes_on(connection, board, text))
        });
        if accepts && ready.get(1) == Some(&true) {
            self.accept();
        }
        true
    }

    /// Whether a connection may be accepted now.
    fn may_accept(&mut self) -> bool {
        if self.turn.0.elapsed() >= TURN {
            self.turn = (Instant::now(), PACE);
        }
        self.turn.1 > 0
    }

    fn accept(&mut self) {
        while self.turn.1 > 0 {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    self.turn.1 -= 1;
                    if self.connections.len() >= CONNECTIONS {
                        self.connections.remove(0);
                    }
                    self.connections.extend(Connection::new(stream).ok());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The client is gone. Where descriptors are missing, the next turn may have some.
                Err(_) => self.turn.1 -= 1,
            }
        }
    }
}

/// Serves a connection that is ready. Returns whether it stays.
fn goes_on(connection: &mut Connection, board: &Board, text: &mut Text) -> bool {
    let next = match connection.go_on() {
        Next::Asked(Asked::Wrong(wrong)) => connection.answer(Answer::refused(wrong)),
        Next::Asked(Asked::Metrics { gzip, head }) => {
            let body = text.of(board.fresh(), gzip);
            connection.answer(Answer::metrics(&body, TYPE, gzip, head))
        }
        next => next,
    };
    matches!(next, Next::Wait)
}

impl Text {
    /// The text of a snapshot.
    fn of(&mut self, snapshot: Option<Arc<Snapshot>>, gzip: bool) -> Arc<[u8]> {
        let is_same = match (&self.of, &snapshot) {
            (Some(last), Some(snapshot)) => Arc::ptr_eq(last, snapshot),
            (last, snapshot) => last.is_none() && snapshot.is_none(),
        };
        if !is_same {
            *self = Text { of: snapshot, ..Text::default() };
        }
        let of = &self.of;
        let plain = self.plain.get_or_insert_with(|| prometheus::text(of.clone()).into_bytes().into());
        match gzip {
            true => Arc::clone(self.gzip.get_or_insert_with(|| compressed(plain))),
            false => Arc::clone(plain),
        }
    }
}

fn compressed(text: &[u8]) -> Arc<[u8]> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // A `Vec` takes all that is written.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::fleet::roll::Roll;
    use crate::fleet::snapshot::Labels;

    #[test]
    fn the_text_is_made_once_for_a_snapshot_and_is_the_same_when_it_is_compressed() {
        let mut roll = Roll::new(None);
        let mut snapshot = |hits| {
            let mut round = roll.round();
            round.add(1, || Labels::new("f", ""), hits, None);
            Some(Arc::new(round.finish(1, 0)))
        };
        let mut text = Text::default();
        let first = snapshot(1);
        let plain = text.of(first.clone(), false);
        let mut inflated = Vec::new();
        GzDecoder::new(&*text.of(first.clone(), true)).read_to_end(&mut inflated).unwrap();
        assert_eq!(inflated, *plain);
        assert!(Arc::ptr_eq(&plain, &text.of(first, false)));
        assert_ne!(*plain, *text.of(snapshot(2), false));
    }
}
