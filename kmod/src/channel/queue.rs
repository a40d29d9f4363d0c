// SPDX-License-Identifier: GPL-2.0

//! A queue of bytes.

use core::ptr;

use kernel::prelude::*;
use wire::Sink;

use crate::mm::current::Buffer;
use crate::vec::{set_length, Keep};

/// Bytes that leave in the order in which they came.
pub(crate) struct Queue {
    bytes: KVVec<u8>,
    /// How many of `bytes` have left.
    taken: usize,
}

impl Queue {
    pub(crate) const fn new() -> Queue {
        Queue { bytes: KVVec::new(), taken: 0 }
    }

    /// The bytes in the queue.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }

    /// Removes the first `count` bytes, or all if there are fewer.
    pub(crate) fn take(&mut self, count: usize) {
        let there = self.rest().len();
        self.taken += count.min(there);
        if count >= there {
            self.compact();
        }
    }

    /// Appends the first `size` bytes of a user's buffer, or nothing if one of them cannot be read.
    pub(crate) fn fill(&mut self, from: &Buffer, size: usize) -> Result {
        self.compact();
        from.read(size, &mut self.bytes)
    }

    /// The position behind the last byte, for [`Queue::behind`] and [`Queue::cut`]. It is valid until bytes are removed.
    pub(crate) fn end(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes behind a position.
    pub(crate) fn behind(&self, end: usize) -> &[u8] {
        self.bytes.get(end..).unwrap_or_default()
    }

    /// Drops the bytes behind a position.
    pub(crate) fn cut(&mut self, end: usize) {
        self.bytes.keep(end);
    }

    /// Moves the bytes in the queue to the beginning of the allocation.
    fn compact(&mut self) {
        let there = self.rest().len();
        if self.taken > 0 {
            // SAFETY: `there` initialised bytes follow the first `taken` ones, and `copy` accepts that source and destination overlap.
            // After it the first `there` bytes are initialised.
            unsafe {
                let start = self.bytes.as_mut_ptr();
                ptr::copy(start.add(self.taken), start, there);
                set_length(&mut self.bytes, there);
            }
            self.taken = 0;
        }
    }
}

impl Sink for Queue {
    type Error = Error;

    fn put(&mut self, bytes: &[u8]) -> Result {
        Ok(self.bytes.extend_from_slice(bytes, GFP_KERNEL_ACCOUNT)?)
    }
}
