//! What the front process and the worker process tell each other (see the parent module).

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use ubp::{Pid, Session};

use crate::failure::{Failure, Result};

/// A message from the front to the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The front received a signal.
    Signal {
        /// The signal's number.
        number: u8,
        /// Whether a key at the terminal caused the signal. The terminal sends such a signal to the program too.
        from_terminal: bool,
    },
    /// The front has ended.
    Gone,
}

/// The size of a notice on the pipe in bytes: the signal's number, and 1 for a signal from the terminal.
const NOTICE: usize = 2;

/// How the program's run ended. The worker reports it to the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The program exited with this status.
    Exited(i32),
    /// This signal killed the program.
    Killed(i32),
    /// The program continues without ntrace.
    Detached,
}

/// The worker's end of the pipe from the front.
pub(crate) struct Control {
    pipe: File,
}

impl Control {
    pub(crate) fn new(pipe: File) -> Control {
        Control { pipe }
    }

    /// Waits for an event of the debuggee or a notice from the front. Returns the notice.
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

    /// The file descriptor that becomes readable when the front sends a notice.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Returns the next notice, if there is one. Does not wait.
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

/// Sends a signal to the program. A program that has ended needs no signal, so an error is ignored.
pub(crate) fn send(pid: Pid, number: u8) {
    if let Ok(signal) = Signal::try_from(i32::from(number)) {
        let _ = kill(nix::unistd::Pid::from_raw(pid.0), signal);
    }
}
