//! A shell on a terminal of its own.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::build;

const NTRACE: &str = env!("CARGO_BIN_EXE_ntrace");

/// A shell with job control on its own terminal.
pub(crate) struct Terminal {
    pub(crate) keyboard: File,
    pub(crate) shell: Child,
    /// Everything that the terminal has shown.
    pub(crate) shown: String,
}

impl Terminal {
    /// Runs a script. `$N` is ntrace, and `$P` is the program that uses the terminal. The terminal has no size.
    pub(crate) fn run(script: &str, variables: &[(&str, &str)]) -> Terminal {
        Terminal::sized(script, variables, (0, 0))
    }

    /// Runs a script on a terminal with this number of rows and columns.
    pub(crate) fn sized(script: &str, variables: &[(&str, &str)], size: (u16, u16)) -> Terminal {
        let (mut keyboard, mut programs) = (-1, -1);
        let (name, termios, size) = (std::ptr::null_mut(), std::ptr::null(), window(size));
        // SAFETY: both numbers and the size are live, and the other arguments may be null.
        assert_eq!(unsafe { libc::openpty(&mut keyboard, &mut programs, name, termios, &size) }, 0);
        // SAFETY: both descriptors are new, and nothing else owns them.
        let (keyboard, programs) = unsafe { (File::from_raw_fd(keyboard), File::from_raw_fd(programs)) };
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        let program = PROGRAM.get_or_init(|| build("terminal.c", &["-static"]));
        let mut command = Command::new("bash");
        command.args(["--norc", "-m", "-c", script]).env("N", NTRACE).env("P", program).env("TERM", "xterm");
        command.env_remove("NO_COLOR").envs(variables.iter().copied());
        let end = || Stdio::from(programs.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end());
        let own_session = || {
            // SAFETY: setsid takes no argument, and this ioctl takes a number. Standard input is the terminal.
            let done = unsafe { libc::setsid() != -1 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 };
            if done { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        // SAFETY: the closure calls only setsid and ioctl, which are async-signal-safe.
        unsafe { command.pre_exec(own_session) };
        let shell = command.spawn().unwrap();
        Terminal { keyboard, shell, shown: String::new() }
    }

    /// Reads what the terminal shows next, with a timeout. Returns `false` if no program has the terminal open any more.
    pub(crate) fn read(&mut self, time: Duration) -> bool {
        let mut fds = [PollFd::new(self.keyboard.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::try_from(time).unwrap()).unwrap() == 0 {
            return true;
        }
        let mut bytes = [0; 4096];
        match self.keyboard.read(&mut bytes) {
            Ok(read) if read > 0 => self.shown.push_str(&String::from_utf8_lossy(&bytes[..read])),
            _ => return false,
        }
        true
    }

    /// Returns what the terminal shows from now on, up to `wanted`.
    pub(crate) fn until(&mut self, wanted: &str) -> String {
        let (start, begin) = (self.shown.len(), Instant::now());
        while !self.shown[start..].contains(wanted) {
            let there = self.read(Duration::from_millis(100));
            let waits = there && begin.elapsed() < Duration::from_secs(60);
            assert!(waits || self.shown[start..].contains(wanted), "no {wanted:?} in {:?}", self.shown);
        }
        self.shown[start..].to_string()
    }

    /// Returns what the terminal shows during a given time.
    pub(crate) fn during(&mut self, time: Duration) -> String {
        let (start, begin) = (self.shown.len(), Instant::now());
        while let Some(rest) = time.checked_sub(begin.elapsed()) {
            assert!(self.read(rest), "the end of {:?}", self.shown);
        }
        self.shown[start..].to_string()
    }

    /// Returns everything that the terminal shows up to the end.
    pub(crate) fn finish(mut self) -> String {
        while self.read(Duration::from_secs(60)) {}
        self.shell.wait().unwrap();
        self.shown
    }

    /// Gives the terminal another number of rows and columns.
    pub(crate) fn resize(&self, size: (u16, u16)) {
        // SAFETY: the descriptor is open, and the request reads the size, which is live.
        assert_eq!(unsafe { libc::ioctl(self.keyboard.as_raw_fd(), libc::TIOCSWINSZ, &window(size)) }, 0);
    }
}

fn window((rows, columns): (u16, u16)) -> libc::winsize {
    libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
