//! Where the tracing thread lays the last snapshot, and other threads take it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::snapshot::Snapshot;

/// A snapshot that is younger is not made anew: whoever asks more often costs the program no more.
const YOUNG: Duration = Duration::from_secs(1);
/// The longest wait for a snapshot of a tracing thread that has other work.
const PATIENCE: Duration = Duration::from_secs(2);

/// The last snapshot.
#[derive(Default)]
pub(super) struct Board {
    /// Whether somebody waits for a snapshot.
    wanted: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    last: Option<Last>,
    /// Whether there are no more snapshots.
    is_over: bool,
}

struct Last {
    snapshot: Arc<Snapshot>,
    since: Instant,
}

impl Board {
    /// Whether the tracing thread has to make a snapshot.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Lays a snapshot down.
    pub(super) fn put(&self, snapshot: Snapshot) {
        self.wanted.store(false, Ordering::Relaxed);
        self.lock().last = Some(Last { snapshot: Arc::new(snapshot), since: Instant::now() });
        self.changed.notify_all();
    }

    /// Notes that no more snapshots come.
    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// The present snapshot: waits for the tracing thread to make one. The last one, if that thread has other work; `None` if it never made one.
    pub(super) fn fresh(&self) -> Option<Arc<Snapshot>> {
        let mut state = self.lock();
        if !state.is_young() && !state.is_over {
            self.wanted.store(true, Ordering::Relaxed);
            let waited = self.changed.wait_timeout_while(state, PATIENCE, |state| !state.is_young() && !state.is_over);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.last.as_ref().map(|last| Arc::clone(&last.snapshot))
    }

    /// Waits until no more snapshots come, at most this long. Returns whether none come.
    pub(super) fn is_over_within(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), time, |state| !state.is_over);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_over
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_young(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last.since.elapsed() < YOUNG)
    }
}
