//! What the front process and the worker process tell each other (see the parent module).

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use ubp::{Event, Pid, Session};

use super::bell::Bell;
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

/// The time between two looks whether a program that is not traced any more has ended.
const LOOK: Duration = Duration::from_millis(20);

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

/// What ended a wait.
pub(crate) enum Woken {
    Event(Event),
    Notice(Notice),
    /// The time is over, or no debuggee is left.
    Nothing,
}

/// The worker's end of the pipe from the front.
pub(crate) struct Control {
    pipe: Arc<File>,
    bell: Option<Bell>,
}

impl Control {
    pub(crate) fn new(pipe: File) -> Control {
        Control { pipe: Arc::new(pipe), bell: None }
    }

    /// Waits for an event of the debuggee or a notice from the front, about as long as `limit`. A later wait may end as early as this one
    /// would have.
    pub(crate) fn wait(&mut self, session: &mut Session, limit: Option<Duration>) -> Result<Woken> {
        let bell = match &mut self.bell {
            Some(bell) => bell,
            none => none.insert(Bell::new(&self.pipe).map_err(Failure::own)?),
        };
        let mut rang = bell.has_rung();
        if !rang {
            let event = bell.during(limit, |stop| session.wait_unless(stop)).map_err(Failure::trace)?;
            if let Some(event) = event {
                return Ok(Woken::Event(event));
            }
            rang = bell.has_rung();
        }
        Ok(rang.then(|| self.take()).flatten().map_or(Woken::Nothing, Woken::Notice))
    }

    /// What becomes readable when the front sends a notice, for a wait that is none for events.
    pub(crate) fn notices(&self) -> Arc<File> {
        Arc::clone(&self.pipe)
    }

    /// The file descriptor that becomes readable when the front sends a notice.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Returns the next notice, if there is one. Does not wait.
    pub(crate) fn take(&mut self) -> Option<Notice> {
        self.next_within(Duration::ZERO)
    }

    /// Waits for the next notice, and for no event.
    pub(crate) fn next_within(&mut self, limit: Duration) -> Option<Notice> {
        let mut fds = [PollFd::new(self.pipe.as_fd(), PollFlags::POLLIN)];
        let found = poll(&mut fds, PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX));
        found.is_ok_and(|found| found > 0).then(|| self.read())
    }

    /// Waits for the end of a program that ntrace started and detached from, and passes signals to it. Ends when the front has ended.
    pub(crate) fn await_program(&mut self, pid: Pid) -> End {
        loop {
            match waitpid(nix::unistd::Pid::from_raw(pid.0), Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(_, status)) => return End::Exited(status),
                Ok(WaitStatus::Signaled(_, signal, _)) => return End::Killed(signal as i32),
                Ok(_) => {}
                Err(_) => return End::Detached,
            }
            match self.next_within(LOOK) {
                Some(Notice::Gone) => return End::Detached,
                // The terminal sent the signal to the program too.
                Some(Notice::Signal { number, from_terminal: false }) => send(pid, number),
                Some(Notice::Signal { .. }) | None => {}
            }
        }
    }

    fn read(&mut self) -> Notice {
        let mut bytes = [0; NOTICE];
        match (&*self.pipe).read_exact(&mut bytes) {
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
