//! Ends the tracing thread's wait for an event when the front sends a notice.
//!
//! The tracing thread waits in waitid(2), which nothing but a report of a debuggee or a signal handler ends. A second thread waits for the
//! pipe. When the pipe is readable, or when the time is over, it sends a signal to the tracing thread until that thread has woken up.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::pthread::{Pthread, pthread_kill, pthread_self};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, pthread_sigmask, sigaction};

/// The signal that ends the wait. It is blocked while the tracing thread does not wait.
const SIGNAL: Signal = Signal::SIGURG;
/// The time between two signals: the first may have come before the wait began.
const AGAIN: Duration = Duration::from_millis(1);

/// The second thread, as the tracing thread sees it.
pub(super) struct Bell {
    shared: Arc<Shared>,
    mask: SigSet,
}

#[derive(Default)]
struct Shared {
    /// The pipe is readable, or the time is over.
    rung: AtomicBool,
    waiting: Mutex<Option<Waiting>>,
    changed: Condvar,
}

/// The wait of the tracing thread.
#[derive(Clone, Copy)]
struct Waiting {
    thread: Pthread,
    limit: PollTimeout,
}

extern "C" fn nothing(_: i32) {}

impl Bell {
    /// Starts the second thread.
    pub(super) fn new(pipe: &Arc<File>) -> Result<Bell, String> {
        let fail = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
        let mask = SigSet::from(SIGNAL);
        let (shared, mut before) = (Arc::new(Shared::default()), SigSet::empty());
        // The second thread takes no signal.
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before))
            .map_err(|e| fail("sigmask", &e))?;
        let (ringing, read) = (Arc::clone(&shared), Arc::clone(pipe));
        let made = thread::Builder::new().name("control".into()).spawn(move || ringing.ring(&read));
        before.add(SIGNAL);
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None).map_err(|e| fail("sigmask", &e))?;
        made.map_err(|e| fail("thread", &e))?;
        // Without SA_RESTART the handler ends the wait.
        let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler does nothing.
        unsafe { sigaction(SIGNAL, &action) }.map_err(|e| fail("sigaction", &e))?;
        Ok(Bell { shared, mask })
    }

    /// Whether the bell has rung since the last call.
    pub(super) fn has_rung(&self) -> bool {
        self.shared.rung.swap(false, Ordering::AcqRel)
    }

    /// Runs `wait`, which a signal handler ends if the flag is set that it is given.
    pub(super) fn during<T>(&self, limit: Option<Duration>, wait: impl FnOnce(&AtomicBool) -> T) -> T {
        let limit = limit.map_or(PollTimeout::NONE, |limit| PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX));
        self.shared.set(Some(Waiting { thread: pthread_self(), limit }));
        // Masks of valid signals are always accepted.
        let _ = pthread_sigmask(SigmaskHow::SIG_UNBLOCK, Some(&self.mask), None);
        let result = wait(&self.shared.rung);
        let _ = pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&self.mask), None);
        self.shared.set(None);
        result
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, waiting: Option<Waiting>) {
        *self.lock() = waiting;
        self.changed.notify_one();
    }

    /// The second thread.
    fn ring(&self, pipe: &File) {
        loop {
            let limit = self.wait_begins();
            // A failure counts as a ring: the tracing thread finds out what there is.
            let _ = poll(&mut [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)], limit);
            self.rung.store(true, Ordering::Release);
            let mut waiting = self.lock();
            // The wait may be a later one, which begins after the tracing thread has noticed the bell.
            while let Some(wait) = waiting.filter(|_| self.rung.load(Ordering::Acquire)) {
                // The thread is still in `during`, because it takes the lock before it leaves.
                let _ = pthread_kill(wait.thread, SIGNAL);
                waiting = self.changed.wait_timeout(waiting, AGAIN).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Waits until the tracing thread waits, and returns for how long it does.
    fn wait_begins(&self) -> PollTimeout {
        let mut waiting = self.lock();
        loop {
            if let Some(wait) = *waiting {
                return wait.limit;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
