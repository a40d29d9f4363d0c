//! Gives a program that ntrace starts the signal dispositions, file descriptors and variables that the shell gave to ntrace.
//!
//! The Rust run-time and ntrace itself change some of them, and those changes are undone in the program.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::unistd::getpgrp;

/// The signals that were ignored when ntrace started. Bit 0 is signal 1.
static IGNORED: AtomicU64 = AtomicU64::new(0);
/// The standard descriptors that were closed when ntrace started. Bit 0 is descriptor 0.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The variables of the environment that ntrace changes for itself, with their values before; `None`: a variable was not set.
static VARIABLES: Mutex<Vec<(&str, Option<OsString>)>> = Mutex::new(Vec::new());

/// The number after the last signal.
const SIGNALS: libc::c_int = 65;
const STANDARD_DESCRIPTORS: libc::c_int = 3;

/// Notes the state that the Rust run-time changes before `main`: it ignores `SIGPIPE`, and opens standard descriptors that are closed.
///
/// The program's `.init_array` calls this function.
pub extern "C" fn note() {
    let mut ignored = 0;
    for signal in 1..SIGNALS {
        // SAFETY: all-zero bytes are a valid value of this plain C structure.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the call changes no action, and the structure is live. The C library refuses its internal signals.
        let known = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) } == 0;
        if known && action.sa_sigaction == libc::SIG_IGN {
            ignored |= 1 << (signal - 1);
        }
    }
    IGNORED.store(ignored, Ordering::Relaxed);
    // SAFETY: fcntl with this request takes numbers only.
    let closed = (0..STANDARD_DESCRIPTORS).filter(|&fd| unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1);
    CLOSED.store(closed.fold(0, |set, fd| set | 1 << fd), Ordering::Relaxed);
}

/// Notes a variable of the environment that ntrace is about to change for itself.
pub(crate) fn keep_variable(name: &'static str) {
    let mut kept = VARIABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.iter().all(|(known, _)| *known != name) {
        kept.push((name, std::env::var_os(name)));
    }
}

/// The state that a program inherits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heritage {
    /// The front's process group, which is the terminal's foreground group.
    group: i32,
    /// The blocked signals.
    mask: SigSet,
    ignored: u64,
    closed: u8,
    /// Whether the standard descriptors are not those of a terminal.
    apart: bool,
}

impl Heritage {
    /// Returns the state of this process, the front. `mask` are the signals that were blocked before the front blocked others.
    pub(crate) fn of_front(mask: SigSet) -> Heritage {
        let (ignored, closed) = (IGNORED.load(Ordering::Relaxed), CLOSED.load(Ordering::Relaxed));
        Heritage { group: getpgrp().as_raw(), mask, ignored, closed, apart: false }
    }

    /// The same, but that `/dev/null` takes the place of a terminal, which ntrace uses itself.
    pub(crate) fn apart(self) -> Heritage {
        Heritage { apart: true, ..self }
    }

    /// The process group of the front and of the program.
    pub(crate) fn group(&self) -> i32 {
        self.group
    }

    /// Makes a command start its program with this state.
    pub(crate) fn give_to(self, command: &mut Command) {
        command.process_group(self.group);
        for (name, value) in &*VARIABLES.lock().unwrap_or_else(PoisonError::into_inner) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        // SAFETY: `restore` calls only async-signal-safe functions, and the closure owns the values that it uses.
        unsafe { command.pre_exec(move || self.restore()) };
    }

    fn restore(&self) -> io::Result<()> {
        for signal in (1..SIGNALS).filter(|signal| self.ignored & 1 << (signal - 1) != 0) {
            // SAFETY: ignoring a signal runs no code of this process.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        for fd in (0..STANDARD_DESCRIPTORS).filter(|fd| self.closed & 1 << fd != 0) {
            // SAFETY: the run-time opened the descriptor in place of a closed one, and nothing uses it in a child that is about to execute
            // a program.
            unsafe { libc::close(fd) };
        }
        if self.apart {
            leave_terminal()?;
        }
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None).map_err(io::Error::from)
    }
}

/// Opens `/dev/null` in the place of standard descriptors that are a terminal. Calls only async-signal-safe functions.
fn leave_terminal() -> io::Result<()> {
    for fd in 0..STANDARD_DESCRIPTORS {
        // SAFETY: the call takes a number only.
        if unsafe { libc::isatty(fd) } == 0 {
            continue;
        }
        // SAFETY: the path is a string that ends with zero.
        let null = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        // SAFETY: the calls take numbers only, and nothing uses the replaced descriptor in a child that is about to execute a program.
        let replaced = null >= 0 && unsafe { libc::dup2(null, fd) } == fd;
        if !replaced {
            return Err(io::Error::last_os_error());
        }
        if null != fd {
            // SAFETY: the descriptor is the one that was just opened.
            unsafe { libc::close(null) };
        }
    }
    Ok(())
}

/// Makes the kernel report the ends of children to this process. It does not if ntrace was started with `SIGCHLD` ignored or blocked.
pub(crate) fn enable_child_signals() {
    // SAFETY: the default action runs no code of this process.
    let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) };
    let mut only = SigSet::empty();
    only.add(Signal::SIGCHLD);
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&only), None);
}
