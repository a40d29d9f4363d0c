// SPDX-License-Identifier: GPL-2.0

//! Threads that wait for a number to come into a range.

use core::sync::atomic::{AtomicUsize, Ordering};

use kernel::bindings;
use kernel::prelude::*;
use kernel::types::Opaque;

use crate::ffi::{self, File, PollTable};

/// A number, and who waits for it.
#[pin_data]
pub(crate) struct Waiters {
    count: AtomicUsize,
    #[pin]
    queue: Opaque<bindings::wait_queue_head>,
}

// SAFETY: a wait queue has a lock of its own.
unsafe impl Send for Waiters {}
// SAFETY: the same.
unsafe impl Sync for Waiters {}

impl Waiters {
    /// The number is 0.
    pub(crate) fn new() -> impl PinInit<Waiters> {
        pin_init!(Waiters {
            count: AtomicUsize::new(0),
            // SAFETY: the slot is pinned.
            queue <- Opaque::ffi_init(|slot| unsafe { ffi::ntrace_wait_init(slot) }),
        })
    }

    /// Sets the number and wakes all who wait.
    pub(crate) fn set(&self, count: usize) {
        self.count.store(count, Ordering::Release);
        // SAFETY: the queue was initialised. A null key wakes all.
        unsafe { bindings::__wake_up(self.queue.get(), bindings::TASK_NORMAL, 0, core::ptr::null_mut()) };
    }

    /// The number.
    pub(crate) fn get(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Sleeps until the number is in the range, or a signal comes.
    pub(crate) fn wait(&self, range: core::ops::Range<usize>) -> Result {
        // SAFETY: both belong to this, which outlives the call; the number is read as a whole.
        let waited =
            unsafe { ffi::ntrace_wait(self.queue.get(), self.count.as_ptr().cast(), range.start as _, range.end as _) };
        ffi::result(waited)
    }

    /// Sleeps until the number is at least `least`, or the thread is killed.
    pub(crate) fn wait_killable(&self, least: usize) {
        // SAFETY: both belong to this, which outlives the call; the number is read as a whole.
        unsafe { ffi::ntrace_wait_killable(self.queue.get(), self.count.as_ptr().cast(), least as _) };
    }

    /// Has a poller woken with those who wait.
    pub(crate) fn poll(&self, file: *mut File, table: *mut PollTable) {
        // SAFETY: called for a file that is being polled; the queue lives as long as the file.
        unsafe { ffi::ntrace_poll_wait(file, self.queue.get(), table) };
    }
}
