//! A descriptor that is readable when a tracer may have a report to take.
//!
//! No descriptor of the kernel tells of a ptrace-stop: a pidfd (pidfd_open(2)) tells of ends alone, and `SIGCHLD` belongs to the
//! process, which may block, ignore or handle it. So a thread waits for reports, leaves them where they are, and writes to an
//! eventfd. The thread exists from the first use of the descriptor on.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::pause::Pause;
use super::status::Status;
use super::sys::own_tid;
use super::wait::{self, Found};
use crate::{Error, Result, Tid};

/// The longest time between two looks at threads that the watching thread cannot sleep for.
const LONGEST: Duration = Duration::from_millis(10);

/// The descriptor of one tracer.
#[derive(Debug)]
pub(super) struct Notify {
    shared: Arc<Shared>,
    state: Cell<Watched>,
}

/// Who makes the descriptor readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watched {
    /// Nobody polls the descriptor.
    Unused,
    /// The watching thread.
    ByThread,
    /// The thread could not be made: the descriptor is always readable.
    Always,
}

#[derive(Debug)]
struct Shared {
    descriptor: OwnedFd,
    /// The thread that traces.
    tracer: i32,
    /// Other threads of the process may take reports, so that a wait for one may never end.
    unreliable: bool,
    watch: Mutex<Watch>,
    changed: Condvar,
}

/// What the tracer asks of the watching thread.
#[derive(Debug, Default)]
struct Watch {
    /// The tracer has taken all reports and wants to know of the next.
    armed: bool,
    /// The tracer is gone.
    closed: bool,
    tracees: Vec<Tid>,
}

impl Notify {
    /// The descriptor of the calling thread. `unreliable`: other threads of the process may take reports.
    pub(super) fn new(unreliable: bool) -> Result<Notify> {
        // SAFETY: eventfd takes numbers.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(Error::System { call: "eventfd", id: 0, source: io::Error::last_os_error() });
        }
        // SAFETY: the descriptor is new and nobody else's.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let (watch, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { descriptor, tracer: own_tid(), unreliable, watch, changed });
        Ok(Notify { shared, state: Cell::new(Watched::Unused) })
    }

    /// The descriptor. It is readable after the first call, because nobody knows then what was reported before.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        if self.state.get() == Watched::Unused {
            let shared = Arc::clone(&self.shared);
            let made =
                without_signals(|| thread::Builder::new().name("ptrace-watch".into()).spawn(move || shared.watch()));
            self.state.set(if made.is_ok() { Watched::ByThread } else { Watched::Always });
            self.shared.announce();
        }
        self.shared.descriptor.as_fd()
    }

    /// Makes the descriptor readable.
    pub(super) fn wake(&self) {
        if self.state.get() != Watched::Unused {
            self.shared.announce();
        }
    }

    /// Makes the descriptor unreadable until [`Notify::wake`], or until a report comes after [`Notify::arm`].
    pub(super) fn clear(&self) {
        if self.state.get() != Watched::ByThread {
            return;
        }
        self.shared.lock().armed = false;
        let mut count = 0u64;
        // SAFETY: eight bytes of a live integer.
        unsafe { libc::read(self.shared.descriptor.as_raw_fd(), (&raw mut count).cast(), 8) };
    }

    /// The next report of a tracee makes the descriptor readable, also one that the kernel has already.
    pub(super) fn arm(&self, tracees: impl Iterator<Item = Tid>) {
        if self.state.get() != Watched::ByThread {
            return;
        }
        let mut watch = self.shared.lock();
        watch.tracees.clear();
        watch.tracees.extend(tracees);
        watch.armed = !watch.tracees.is_empty();
        drop(watch);
        self.shared.changed.notify_one();
    }
}

impl Drop for Notify {
    fn drop(&mut self) {
        // A watching thread that waits in the kernel ends with its next look. A copy of the process, which fork(2) made, has no
        // such thread, and a mutex that may be locked.
        if self.state.get() == Watched::ByThread && self.shared.tracer == own_tid() {
            self.shared.lock().closed = true;
            self.shared.changed.notify_one();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self) {
        let one = 1u64;
        // SAFETY: eight bytes of a live integer.
        unsafe { libc::write(self.descriptor.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// The watching thread.
    fn watch(&self) {
        let mut pause = Pause::new();
        while let Some(tracees) = self.wanted() {
            let has_report = match wait::peek_process(!self.unreliable) {
                Ok(Found::Report(tid, _)) if tracees.contains(&tid) || self.traces(tid) => true,
                // A report of another tracer of the process hides those behind it until that tracer takes it.
                Ok(Found::Report(..)) => tracees.iter().any(|&tid| !matches!(wait::peek(tid, false), Ok(None))),
                // Somebody else took a report, perhaps.
                Ok(Found::Nothing) => self.unreliable && pause.is_long(),
                // All tracees are gone, which the tracer has to find out.
                Ok(Found::NoTracee) | Err(_) => true,
            };
            let mut watch = self.lock();
            if has_report && watch.armed {
                watch.armed = false;
                self.announce();
            }
            drop(watch);
            if has_report { pause = Pause::new() } else { pause.sleep(LONGEST) }
        }
    }

    /// Waits until the tracer wants to know of a report, and returns its tracees. `None`: the tracer is gone.
    fn wanted(&self) -> Option<Vec<Tid>> {
        let mut watch = self.lock();
        while !watch.armed && !watch.closed {
            watch = self.changed.wait(watch).unwrap_or_else(PoisonError::into_inner);
        }
        (!watch.closed).then(|| watch.tracees.clone())
    }

    fn traces(&self, tid: Tid) -> bool {
        Status::read(tid).is_ok_and(|status| status.tracer == self.tracer)
    }
}

/// Makes a thread that no signal of the process reaches: its handlers belong to the user's threads.
fn without_signals<T>(make: impl FnOnce() -> T) -> T {
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: the sets are live structures.
    unsafe {
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
    }
    let made = make();
    // SAFETY: `before` is a live set, which the call above filled.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    made
}
