//! Orders from the front process (see `worker`), and waiting for them and for the debuggee at once.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use ubp::{Pid, Session};

use crate::failure::{Failure, Result};

/// What the front tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It got a signal.
    Signal {
        /// Its number.
        number: u8,
        /// A key pressed at the terminal, which sends it to the program as well.
        from_terminal: bool,
    },
    /// It is gone.
    Gone,
}

/// Bytes of one notice on the pipe: the signal's number, and 1 where it is from the terminal.
pub(crate) const NOTICE: usize = 2;

/// The end of the pipe from the front.
pub(crate) struct Control {
    pipe: File,
}

impl Control {
    pub(crate) fn new(pipe: File) -> Control {
        Control { pipe }
    }

    /// Waits for the debuggee or for the front; returns what the front told.
    pub(crate) fn wait(&mut self, session: &Session, timeout: Option<Duration>) -> Result<Option<Notice>> {
        let timeout = match timeout {
            Some(timeout) => PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX),
            None => PollTimeout::NONE,
        };
        let mut fds =
            [PollFd::new(self.pipe.as_fd(), PollFlags::POLLIN), PollFd::new(session.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(Failure::own(format!("poll: {error}"))),
        }
        let ready = fds[0].revents().is_some_and(|events| !events.is_empty());
        Ok(if ready { Some(self.read()) } else { None })
    }

    /// What becomes readable when the front has told something.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// What the front has told, if it has.
    pub(crate) fn take(&mut self) -> Option<Notice> {
        let mut fds = [PollFd::new(self.pipe.as_fd(), PollFlags::POLLIN)];
        let found = poll(&mut fds, PollTimeout::ZERO);
        found.is_ok_and(|found| found > 0).then(|| self.read())
    }

    fn read(&mut self) -> Notice {
        let mut bytes = [0; NOTICE];
        match self.pipe.read_exact(&mut bytes) {
            Ok(()) => Notice::Signal { number: bytes[0], from_terminal: bytes[1] == 1 },
            Err(_) => Notice::Gone,
        }
    }
}

/// Sends a signal to the program; one that is gone by now needs none.
pub(crate) fn send(pid: Pid, number: u8) {
    if let Ok(signal) = Signal::try_from(i32::from(number)) {
        let _ = kill(nix::unistd::Pid::from_raw(pid.0), signal);
    }
}
