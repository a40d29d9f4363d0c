//! A connection of a client that may be slow, or never ask for anything.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::poll::PollFlags;

use super::request::{self, Answer, Asked, LONGEST};

/// The longest life of a connection. It is that of a scrape of Prometheus, unless its user says otherwise.
const LIFE: Duration = Duration::from_secs(10);
/// The most bytes behind a request that are read and thrown away.
const REST: usize = 1 << 20;

/// A connection with one request and its answer.
pub(super) struct Connection {
    stream: TcpStream,
    since: Instant,
    stage: Stage,
}

enum Stage {
    /// The request arrives.
    Reading(Vec<u8>),
    /// The answer leaves; this many bytes of it have.
    Writing(Answer, usize),
    /// What the client sent beyond its request is thrown away, this many bytes at most: an end with unread bytes would take the answer from the
    /// client too.
    Draining(usize),
}

/// What becomes of a connection.
pub(super) enum Next {
    /// It waits for the client.
    Wait,
    /// It has a request, which [`Connection::answer`] answers.
    Asked(Asked),
    /// It is done, or broken.
    Over,
}

impl Connection {
    /// # Errors
    /// The client is gone.
    pub(super) fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        Ok(Connection { stream, since: Instant::now(), stage: Stage::Reading(Vec::new()) })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// What the connection waits for.
    pub(super) fn events(&self) -> PollFlags {
        match self.stage {
            Stage::Reading(_) | Stage::Draining(_) => PollFlags::POLLIN,
            Stage::Writing(..) => PollFlags::POLLOUT,
        }
    }

    /// The time until the connection has lived for too long.
    pub(super) fn left(&self) -> Duration {
        LIFE.saturating_sub(self.since.elapsed())
    }

    /// Gives the answer to the request.
    pub(super) fn answer(&mut self, answer: Answer) -> Next {
        self.stage = Stage::Writing(answer, 0);
        self.go_on()
    }

    /// Reads or writes until the socket would block.
    pub(super) fn go_on(&mut self) -> Next {
        match self.step() {
            Ok(next) => next,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Next::Wait,
            // The client is gone.
            Err(_) => Next::Over,
        }
    }

    fn step(&mut self) -> io::Result<Next> {
        loop {
            match &mut self.stage {
                Stage::Reading(request) => {
                    let mut bytes = [0; 1024];
                    let room = bytes.len().min(LONGEST - request.len());
                    let read = again(|| self.stream.read(&mut bytes[..room]))?;
                    request.extend(&bytes[..read]);
                    match request::read(request) {
                        Some(asked) => return Ok(Next::Asked(asked)),
                        None if read == 0 => return Ok(Next::Over),
                        None => {}
                    }
                }
                Stage::Writing(answer, written) => {
                    let Answer { head, body } = answer;
                    let rest = match written.checked_sub(head.len()) {
                        None => &head[*written..],
                        Some(written) => &body[written..],
                    };
                    if rest.is_empty() {
                        self.stream.shutdown(Shutdown::Write)?;
                        self.stage = Stage::Draining(REST);
                        continue;
                    }
                    *written += again(|| self.stream.write(rest))?;
                }
                Stage::Draining(left) => {
                    let read = again(|| self.stream.read(&mut [0; 4096]))?;
                    *left = left.saturating_sub(read);
                    if read == 0 || *left == 0 {
                        return Ok(Next::Over);
                    }
                }
            }
        }
    }
}

/// Repeats a call that a signal interrupted.
fn again(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
