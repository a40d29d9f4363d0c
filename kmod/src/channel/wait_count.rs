// SPDX-License-Identifier: GPL-2.0

//! A number, and threads that wait until it is in a range.

use core::sync::atomic::{AtomicUsize, Ordering};

use kernel::bindings;
use kernel::prelude::*;
use kernel::types::Opaque;

use crate::ffi::{self, File, PollTable};

/// A number that threads may wait for.
#[pin_data]
pub(crate) struct WaitCount {
    count: AtomicUsize,
    #[pin]
    queue: Opaque<bindings::wait_queue_head>,
}

// SAFETY: the number is atomic, and a wait queue may be used from any thread.
unsafe impl Send for WaitCount {}
// SAFETY: the number is atomic, and a wait queue is guarded by its own spinlock.
unsafe impl Sync for WaitCount {}

impl WaitCount {
    /// The number 0.
    pub(crate) fn new() -> impl PinInit<WaitCount> {
        pin_init!(WaitCount {
            count: AtomicUsize::new(0),
            // SAFETY: `slot` is valid for writes and pinned, so the queue's list may point into it.
            queue <- Opaque::ffi_init(|slot| unsafe { ffi::ntrace_wait_init(slot) }),
        })
    }

    /// Sets the number and wakes all waiting threads.
    pub(crate) fn set(&self, count: usize) {
        self.count.store(count, Ordering::Release);
        self.wake();
    }

    /// Sets the number, and wakes all waiting threads if it falls below `limit`.
    pub(crate) fn fall(&self, count: usize, limit: usize) {
        if self.count.swap(count, Ordering::AcqRel) >= limit && count < limit {
            self.wake();
        }
    }

    /// Makes the number 1 or 0, and wakes all waiting threads if it becomes 1.
    pub(crate) fn raise(&self, is_raised: bool) {
        if self.count.swap(is_raised.into(), Ordering::AcqRel) == 0 && is_raised {
            self.wake();
        }
    }

    /// Wakes all waiting threads.
    pub(crate) fn wake(&self) {
        // SAFETY: `new` initialised the queue. A null key wakes every kind of waiter.
        unsafe { bindings::__wake_up(self.queue.get(), bindings::TASK_NORMAL, 0, core::ptr::null_mut()) };
    }

    /// The number.
    pub(crate) fn get(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Sleeps until the number is in `range`. A signal interrupts it.
    pub(crate) fn wait(&self, range: core::ops::Range<usize>) -> Result {
        // SAFETY: the queue and the number belong to `self`, which outlives the call. The number has the size of `unsigned long` and is
        // read at once.
        let waited =
            unsafe { ffi::ntrace_wait(self.queue.get(), self.count.as_ptr().cast(), range.start as _, range.end as _) };
        ffi::result(waited)
    }

    /// Sleeps until the number is at least `least`. Only SIGKILL interrupts it.
    pub(crate) fn wait_killable(&self, least: usize) {
        // SAFETY: the queue and the number belong to `self`, which outlives the call. The number has the size of `unsigned long` and is
        // read at once.
        unsafe { ffi::ntrace_wait_killable(self.queue.get(), self.count.as_ptr().cast(), least as _) };
    }

    /// Sleeps until the number is another one than `known`, or for `moments` of 20 milliseconds unless that is 0. Only SIGKILL interrupts it.
    pub(crate) fn wait_change(&self, known: usize, moments: i32) {
        // SAFETY: the queue and the number belong to `self`, which outlives the call. The number has the size of `unsigned long` and is
        // read at once.
        unsafe { ffi::ntrace_wait_change(self.queue.get(), self.count.as_ptr().cast(), known as _, moments) };
    }

    /// Sleeps until the number is less than `most`, or `other` is not 0. Only SIGKILL interrupts it. Whoever changes `other` wakes the threads
    /// that wait for this number.
    pub(crate) fn wait_below(&self, most: usize, other: &WaitCount) {
        let (count, other) = (self.count.as_ptr().cast(), other.count.as_ptr().cast());
        // SAFETY: the queue and the number belong to `self`, which outlives the call, as does `other`. Both numbers have the size of `unsigned
        // long` and are read at once.
        unsafe { ffi::ntrace_wait_below(self.queue.get(), count, most as _, other) };
    }

    /// Adds to the number, and wakes all waiting threads.
    pub(crate) fn add(&self, more: isize) {
        self.count.fetch_add(more as usize, Ordering::AcqRel);
        self.wake();
    }

    /// Sleeps until the number is 0, for some seconds at most. SIGKILL interrupts it.
    pub(crate) fn wait_none(&self, seconds: i32) {
        // SAFETY: the queue and the number belong to `self`, which outlives the call. The number has the size of `unsigned long` and is
        // read at once.
        unsafe { ffi::ntrace_wait_none(self.queue.get(), self.count.as_ptr().cast(), seconds) };
    }

    /// Adds the queue to those that wake a poller.
    ///
    /// # Safety
    /// `file` is being polled with `table`, and the number lives as long as the file.
    pub(crate) unsafe fn poll(&self, file: *mut File, table: *mut PollTable) {
        // SAFETY: the caller vouches for file and table, and for the life of the queue.
        unsafe { ffi::ntrace_poll_wait(file, self.queue.get(), table) };
    }
}
