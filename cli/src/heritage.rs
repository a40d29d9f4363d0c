//! What a program that ntrace starts inherits: what the shell would have given it, and not what ntrace and its run-time made of that.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::unistd::getpgrp;

/// The signals that were ignored, as bits from signal 1 on.
static IGNORED: AtomicU64 = AtomicU64::new(0);
/// The standard descriptors that were closed, as bits.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The number behind the last signal's.
const SIGNALS: libc::c_int = 65;
const STANDARD_DESCRIPTORS: libc::c_int = 3;

/// Notes what the run-time of Rust changes before `main`: it ignores `SIGPIPE`, and opens standard descriptors that are closed.
/// The program's `.init_array` calls it.
pub extern "C" fn note() {
    let mut ignored = 0;
    for signal in 1..SIGNALS {
        // SAFETY: all-zero bytes are a valid value of this plain C structure.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: nothing is set, and the structure is live. Signals that the C library keeps for itself are refused.
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

/// What a program gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heritage {
    /// The process group of the front: the terminal's foreground one.
    group: i32,
    /// The signals that were blocked.
    mask: SigSet,
    ignored: u64,
    closed: u8,
}

impl Heritage {
    /// What this process has, which is the front, with the signals blocked that were before it blocked some itself.
    pub(crate) fn of_front(mask: SigSet) -> Heritage {
        let (ignored, closed) = (IGNORED.load(Ordering::Relaxed), CLOSED.load(Ordering::Relaxed));
        Heritage { group: getpgrp().as_raw(), mask, ignored, closed }
    }

    /// The process group of the front, and of the program that it starts.
    pub(crate) fn group(&self) -> i32 {
        self.group
    }

    /// Makes a command give it to the program.
    pub(crate) fn leave_to(self, command: &mut Command) {
        command.process_group(self.group);
        // SAFETY: `restore` calls functions only that are async-signal-safe, and the closure owns what it uses.
        unsafe { command.pre_exec(move || self.restore()) };
    }

    fn restore(&self) -> io::Result<()> {
        for signal in (1..SIGNALS).filter(|signal| self.ignored & 1 << (signal - 1) != 0) {
            // SAFETY: to ignore a signal involves no code of ours.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        for fd in (0..STANDARD_DESCRIPTORS).filter(|fd| self.closed & 1 << fd != 0) {
            // SAFETY: the descriptor is what the run-time opened in place of a closed one, and nobody uses it in a child that is about to
            // execute a program.
            unsafe { libc::close(fd) };
        }
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None).map_err(io::Error::from)
    }
}

/// Lets this process hear of its children, which it does not where it was started with `SIGCHLD` ignored or blocked.
pub(crate) fn hear_of_children() {
    // SAFETY: the default action involves no code of ours.
    let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) };
    let mut only = SigSet::empty();
    only.add(Signal::SIGCHLD);
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&only), None);
}
