//! The whole terminal as a view: raw mode and the alternate screen, which are undone whatever ends the view.

use std::io::{self, IsTerminal, Read, Stderr};
use std::os::fd::{AsFd, BorrowedFd};

use console::Term;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpid, getppid};
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::prelude::CrosstermBackend;
use ratatui::{Frame, Terminal};

use super::streams::stderr;
use crate::failure::{Failure, Result};

/// A view on the terminal of standard error. The keyboard is standard input.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
}

impl Screen {
    /// Whether there can be a view.
    ///
    /// # Errors
    /// A standard stream is no terminal, or the terminal cannot move its cursor.
    pub(crate) fn check() -> Result<()> {
        let lacking = if !stderr().is_terminal() {
            "standard error is no terminal"
        } else if !io::stdin().is_terminal() {
            "standard input is no terminal"
        } else if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
            "the terminal cannot move its cursor (TERM)"
        } else {
            return Ok(());
        };
        Err(Failure::usage(format!("{lacking}: ntrace count writes to files, pipes and any terminal")))
    }

    /// Takes the terminal.
    pub(crate) fn enter() -> Result<Screen> {
        let terminal = Terminal::new(CrosstermBackend::new(stderr())).map_err(failure)?;
        let screen = Screen { terminal };
        // From here on `drop` gives the terminal back.
        enable_raw_mode().map_err(failure)?;
        execute!(stderr(), EnterAlternateScreen).map_err(failure)?;
        Ok(screen)
    }

    /// Draws the view in the size that the terminal has now.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<()> {
        self.terminal.draw(draw).map(|_| ()).map_err(failure)
    }

    /// The keyboard's bytes, without waiting. `None`: the terminal is gone.
    pub(crate) fn keys(&self) -> Option<Vec<u8>> {
        let mut bytes = [0; 256];
        let keyboard = io::stdin();
        let mut fds = [PollFd::new(keyboard.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::ZERO) {
            Ok(0) | Err(_) => return Some(Vec::new()),
            Ok(_) => {}
        }
        match keyboard.lock().read(&mut bytes) {
            Ok(0) => None,
            Ok(read) => bytes.get(..read).map(<[u8]>::to_vec),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(Vec::new()),
            Err(_) => None,
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(stderr(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// Whether the terminal shows characters beyond ASCII: the locale says so.
pub(crate) fn is_unicode() -> bool {
    let of = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = of("LC_ALL").or_else(|| of("LC_CTYPE")).or_else(|| of("LANG")).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    Term::stderr().is_term() && (locale.contains("utf-8") || locale.contains("utf8"))
}

/// The keyboard.
pub(crate) fn keyboard() -> BorrowedFd<'static> {
    // SAFETY: this process never closes its standard input: the run-time opens it if the shell did not.
    unsafe { BorrowedFd::borrow_raw(0) }
}

/// Gives the terminal back in the place of the front, if that was killed.
pub(crate) struct Rescue {
    front: Pid,
    mode: Option<Termios>,
}

impl Rescue {
    /// Called in the front, before it has a screen.
    pub(crate) fn new() -> Rescue {
        Rescue { front: getpid(), mode: tcgetattr(stderr()).ok() }
    }

    /// Called in the worker, when it has nothing more to trace.
    pub(crate) fn give_back(&self) {
        // A front that is alive gives the terminal back itself, and waits for the worker.
        if getppid() == self.front {
            return;
        }
        let _ = execute!(stderr(), LeaveAlternateScreen, Show);
        let _ = self.mode.as_ref().map(|mode| tcsetattr(stderr(), SetArg::TCSANOW, mode));
    }
}

fn failure(error: io::Error) -> Failure {
    Failure::own(format!("the terminal: {error}"))
}
