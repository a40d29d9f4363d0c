// SPDX-License-Identifier: GPL-2.0

//! The watchpoints of an attachment.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};

use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::Mutex;
use wire::commands::access;
use wire::{Failure, Status};

use crate::ffi::{self, Mm};
use crate::vec;

/// Debug registers that a processor has at most.
const MOST: usize = 16;

/// A watchpoint of watch.c.
struct Watch {
    number: u64,
    address: u64,
    length: u64,
    access: u64,
    watch: NonNull<ffi::Watch>,
}

// SAFETY: watch.c lets any thread use it that has the lock, which `Watches` takes.
unsafe impl Send for Watch {}

impl Watch {
    /// A watchpoint of no thread.
    fn new(number: u64, address: u64, length: u64, access: u64) -> Result<Watch, Failure> {
        // SAFETY: the function allocates memory, which the result owns.
        let watch = NonNull::new(unsafe { ffi::ntrace_watch_new(address, length, access) });
        Ok(Watch { number, address, length, access, watch: watch.ok_or(Status::NoMemory)? })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // SAFETY: `new` made it, and nobody uses it any more.
        unsafe { ffi::ntrace_watch_free(self.watch.as_ptr()) };
    }
}

/// The watchpoints of an attachment.
#[pin_data]
pub(crate) struct Watches {
    /// Whether there may be any, for threads that look without the lock.
    any: AtomicBool,
    #[pin]
    all: Mutex<All>,
}

struct All {
    list: KVec<Watch>,
    /// The number of the last one.
    last: u64,
}

impl Watches {
    /// No watchpoint.
    pub(crate) fn none() -> impl PinInit<Watches> {
        pin_init!(Watches {
            any: AtomicBool::new(false),
            all <- new_mutex!(All { list: KVec::new(), last: 0 }, "ntrace watchpoints"),
        })
    }

    /// Watches memory of all threads. Returns the watchpoint's number.
    pub(crate) fn add(&self, mm: &Mm, address: u64, length: u64, kind: u64) -> Result<u64, Failure> {
        // SAFETY: the function looks at constants.
        if !unsafe { ffi::ntrace_watch_supported() } {
            return Err(Status::Unsupported.into());
        }
        if !(access::WRITE..=access::EXECUTE).contains(&kind) {
            return Err(Failure::new(Status::Value, 3));
        }
        let mut all = self.all.lock();
        if all.list.len() >= MOST {
            return Err(Failure::new(Status::Limit, MOST as u64));
        }
        let watch = Watch::new(all.last + 1, address, length, kind)?;
        all.list.reserve(1, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        // A thread that is new from here on finds that there are watchpoints, and waits for the lock.
        self.any.store(true, Ordering::SeqCst);
        // SAFETY: the lock is held, and the debuggee has a reference to the memory.
        match unsafe { ffi::ntrace_watch_all(watch.watch.as_ptr(), mm) } {
            0 => {}
            error if error == ENOMEM.to_errno() => return Err(Status::NoMemory.into()),
            error if error == EINVAL.to_errno() => return Err(Failure::new(Status::Value, 1)),
            // The debug registers of some thread are in use, or there are too many threads.
            _ => return Err(Failure::new(Status::Limit, all.list.len() as u64)),
        }
        all.last = watch.number;
        let number = watch.number;
        all.list.push(watch, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        Ok(number)
    }

    /// Removes a watchpoint.
    pub(crate) fn remove(&self, number: u64) -> Result<(), Failure> {
        let mut all = self.all.lock();
        let removed = vec::take(&mut all.list, |watch| watch.number == number);
        removed.map(drop).ok_or(Failure::new(Status::Value, 1))
    }

    /// Removes all.
    pub(crate) fn clear(&self) {
        if self.any.load(Ordering::SeqCst) {
            drop(core::mem::take(&mut self.all.lock().list));
        }
    }

    /// Watches the same of the current thread, which is the first of a new process. What cannot be watched is left out.
    /// Returns whether anything is watched.
    pub(crate) fn copy(&self, from: &Watches) -> bool {
        if !from.any.load(Ordering::SeqCst) {
            return false;
        }
        let mut copies = KVec::new();
        let from = from.all.lock();
        for Watch { number, address, length, access, .. } in from.list.iter() {
            if let Ok(copy) = Watch::new(*number, *address, *length, *access) {
                let _ = copies.push(copy, GFP_KERNEL_ACCOUNT);
            }
        }
        let last = from.last;
        drop(from);
        self.any.store(true, Ordering::SeqCst);
        let mut all = self.all.lock();
        self.arm(&copies);
        (all.list, all.last) = (copies, last);
        true
    }

    /// No longer watches the current thread, which has left the memory.
    pub(crate) fn end_this(&self) {
        if self.any.load(Ordering::SeqCst) {
            let all = self.all.lock();
            // SAFETY: the lock is held.
            all.list.iter().for_each(|watch| unsafe { ffi::ntrace_watch_end_this(watch.watch.as_ptr()) });
        }
    }

    /// Watches the current thread too, which is new. Returns whether that is done.
    pub(crate) fn begin_this(&self) -> bool {
        !self.any.load(Ordering::SeqCst) || self.arm(&self.all.lock().list)
    }

    fn arm(&self, list: &[Watch]) -> bool {
        // SAFETY: the caller holds the lock.
        list.iter().all(|watch| unsafe { ffi::ntrace_watch_this(watch.watch.as_ptr()) == 0 })
    }

    /// A watchpoint that the current thread has hit, behind the one with a number.
    pub(crate) fn take(&self, behind: u64) -> Option<(u64, u64)> {
        if !self.any.load(Ordering::SeqCst) {
            return None;
        }
        let all = self.all.lock();
        // SAFETY: the lock is held.
        let is_hit = |watch: &&Watch| watch.number > behind && unsafe { ffi::ntrace_watch_take(watch.watch.as_ptr()) };
        all.list.iter().find(is_hit).map(|watch| (watch.number, watch.address))
    }
}
