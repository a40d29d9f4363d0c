// SPDX-License-Identifier: GPL-2.0

//! The ring of events that a session's file is mapped as (`wire::ring` has the layout).

use core::sync::atomic::{fence, AtomicU64, Ordering};

use fastpath::chunks;
use kernel::ffi::c_void;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use wire::ring::{parts, room, HEAD, MOST, SIZE, START, TAIL};

use crate::ffi::{self, Vma};

/// Memory that the kernel writes and users see. Users may write it, too.
pub(crate) struct Ring {
    /// The first page. The ring's bytes follow it.
    base: *mut c_void,
    /// Bytes of the ring.
    size: u64,
    /// Bytes that were ever put. Users can change the copy in the first page.
    head: u64,
}

// SAFETY: the ring owns its memory, and each access is atomic or goes through `&mut self`.
unsafe impl Send for Ring {}

impl Ring {
    /// An empty ring for a mapping of `mapped` bytes.
    pub(crate) fn new(mapped: u64) -> Result<Ring> {
        let size = mapped.saturating_sub(PAGE_SIZE as u64);
        if !size.is_power_of_two() || size < PAGE_SIZE as u64 || size > MOST {
            return Err(EINVAL);
        }
        // SAFETY: the function accepts any size; this one is at least two pages and bounded by `MOST`.
        let base = unsafe { ffi::ntrace_ring_alloc(mapped as _) };
        if base.is_null() {
            return Err(ENOMEM);
        }
        let ring = Ring { base, size, head: 0 };
        ring.word(SIZE).store(size, Ordering::Relaxed);
        ring.word(START).store(PAGE_SIZE as u64, Ordering::Relaxed);
        Ok(ring)
    }

    /// Maps the ring.
    ///
    /// # Safety
    /// The kernel is creating `vma` by mmap(2), and nobody else uses it yet.
    pub(crate) unsafe fn map(&self, vma: *mut Vma) -> Result {
        // SAFETY: the caller vouches for `vma`. `ntrace_ring_map` maps as many pages as the mapping has, and the comparison shows that the
        // ring has as many.
        unsafe {
            if ffi::ntrace_ring_size(vma) as u64 != self.size + PAGE_SIZE as u64 {
                return Err(EINVAL);
            }
            ffi::result(ffi::ntrace_ring_map(vma, self.base))
        }
    }

    /// Bytes that the reader has not taken; some if the tail is impossible.
    pub(crate) fn len(&self) -> u64 {
        // A reader stores the tail before it polls. Either the load below sees that tail, or the reader sees the head.
        fence(Ordering::SeqCst);
        self.head.wrapping_sub(self.word(TAIL).load(Ordering::Relaxed))
    }

    /// Puts all bytes, or none if there is no room. Returns whether the reader has `mark` bytes to take now and had fewer before.
    pub(crate) fn put(&mut self, bytes: &[u8], mark: u64) -> Result<bool> {
        // Messages consist of words, so the head is at a word, and none lies on both sides of the ring's end.
        let words = chunks(bytes);
        if words.len() * 8 != bytes.len() {
            return Err(EINVAL);
        }
        // Acquire: the reader has finished with the bytes before the tail.
        if room(self.head, self.word(TAIL).load(Ordering::Acquire), self.size) < bytes.len() as u64 {
            return Err(ENOSPC);
        }
        // A user may read and write the same words at any time.
        for (word, at) in words.iter().zip((self.head..).step_by(8)) {
            let (offset, _) = parts(at, 8, self.size);
            self.word((PAGE_SIZE + offset) / 8).store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
        self.head += bytes.len() as u64;
        self.word(HEAD).store(self.head, Ordering::Release);
        let now = self.len();
        Ok(now >= mark && now.wrapping_sub(bytes.len() as u64) < mark)
    }

    /// A word of the mapping.
    fn word(&self, number: usize) -> &AtomicU64 {
        // SAFETY: callers name words of `wire::ring`, which all lie in the first page, and words of the ring behind it, whose offset `parts` keeps
        // below the ring's size. The memory is there as long as `self`, and the kernel accesses it by this function alone.
        unsafe { &*self.base.cast::<AtomicU64>().add(number) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the memory with vmalloc. Mappings have references to its pages of their own.
        unsafe { ffi::vfree(self.base) };
    }
}
