// SPDX-License-Identifier: GPL-2.0

//! Bytes on their way.

use core::ptr;

use kernel::prelude::*;
use wire::Sink;

use crate::mm::current::Buffer;
use crate::vec::{set_length, Keep};

/// Bytes in the order in which they were put.
pub(crate) struct Queue {
    bytes: KVVec<u8>,
    taken: usize,
}

impl Queue {
    pub(crate) const fn new() -> Queue {
        Queue { bytes: KVVec::new(), taken: 0 }
    }

    /// Those that are not taken yet.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }

    /// Takes so many, or all that are there.
    pub(crate) fn take(&mut self, count: usize) {
        let there = self.rest().len();
        self.taken += count.min(there);
        if count >= there {
            self.compact();
        }
    }

    /// Puts the first `size` bytes of a user's buffer, or nothing where one of them cannot be read.
    pub(crate) fn fill(&mut self, from: &Buffer, size: usize) -> Result {
        self.compact();
        from.read(size, &mut self.bytes)
    }

    /// Where the next byte will stand; see [`Queue::cut`].
    pub(crate) fn end(&self) -> usize {
        self.bytes.len()
    }

    /// What stands behind `end`.
    pub(crate) fn behind(&self, end: usize) -> &[u8] {
        self.bytes.get(end..).unwrap_or_default()
    }

    /// Forgets what stands behind `end`.
    pub(crate) fn cut(&mut self, end: usize) {
        self.bytes.keep(end);
    }

    /// Moves what is not taken to the beginning.
    fn compact(&mut self) {
        let there = self.rest().len();
        if self.taken > 0 {
            // SAFETY: `there` bytes stand behind the taken ones, and at the beginning is room for as many.
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
