// SPDX-License-Identifier: GPL-2.0

//! The ring of events that a session's file is mapped as; see `wire::ring`.

use core::ptr;
use core::sync::atomic::{fence, AtomicU64, Ordering};

use kernel::ffi::c_void;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use wire::ring::{parts, room, HEAD, MOST, SIZE, START, TAIL};

use crate::ffi::{self, Mapping};

/// Memory that the kernel writes and users see, and may write too.
pub(crate) struct Ring {
    /// The first page, and the ring behind it.
    base: *mut c_void,
    /// Bytes of the ring.
    size: u64,
    /// Bytes that were put: what the first page says of it may be a user's.
    head: u64,
}

// SAFETY: the memory is the ring's own, and is read and written through `&mut` or atomically.
unsafe impl Send for Ring {}

impl Ring {
    /// An empty one for a mapping of so many bytes.
    pub(crate) fn new(mapped: u64) -> Result<Ring> {
        let size = mapped.saturating_sub(PAGE_SIZE as u64);
        if !size.is_power_of_two() || size < PAGE_SIZE as u64 || size > MOST {
            return Err(EINVAL);
        }
        // SAFETY: whole pages, and no more than a ring may have.
        let base = unsafe { ffi::ntrace_ring_make(mapped as _) };
        if base.is_null() {
            return Err(ENOMEM);
        }
        let ring = Ring { base, size, head: 0 };
        ring.word(SIZE).store(size, Ordering::Relaxed);
        ring.word(START).store(PAGE_SIZE as u64, Ordering::Relaxed);
        Ok(ring)
    }

    /// Shows it in a mapping.
    ///
    /// # Safety
    /// The mapping is one that nobody uses yet.
    pub(crate) unsafe fn map(&self, vma: *mut Mapping) -> Result {
        // SAFETY: the caller's promise; the length is compared before.
        unsafe {
            if ffi::ntrace_ring_size(vma) as u64 != self.size + PAGE_SIZE as u64 {
                return Err(EINVAL);
            }
            ffi::result(ffi::ntrace_ring_map(vma, self.base))
        }
    }

    /// Whether the reader has taken all.
    pub(crate) fn is_empty(&self) -> bool {
        // A reader stores the tail before it polls: either that is seen here, or it sees the head.
        fence(Ordering::SeqCst);
        self.word(TAIL).load(Ordering::Relaxed) == self.head
    }

    /// Puts all bytes, or none where there is no room.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result {
        // The reader is done with what it took.
        if room(self.head, self.word(TAIL).load(Ordering::Acquire), self.size) < bytes.len() as u64 {
            return Err(ENOSPC);
        }
        let (offset, before) = parts(self.head, bytes.len(), self.size);
        // SAFETY: both parts lie in the ring, which is no shorter than the bytes; users may look at it meanwhile, and see anything.
        unsafe {
            let start = self.base.cast::<u8>().add(PAGE_SIZE);
            ptr::copy_nonoverlapping(bytes.as_ptr(), start.add(offset), before);
            ptr::copy_nonoverlapping(bytes.as_ptr().add(before), start, bytes.len() - before);
        }
        self.head += bytes.len() as u64;
        self.word(HEAD).store(self.head, Ordering::Release);
        Ok(())
    }

    /// A word of the first page.
    fn word(&self, number: usize) -> &AtomicU64 {
        // SAFETY: the page holds more words than are named; all that share it are atomic here.
        unsafe { &*self.base.cast::<AtomicU64>().add(number) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was made so, and mappings have references of their own to its pages.
        unsafe { ffi::vfree(self.base) };
    }
}
