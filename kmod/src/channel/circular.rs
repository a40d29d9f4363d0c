// SPDX-License-Identifier: GPL-2.0

//! The latest events of a channel in the mode circular.

use kernel::prelude::*;
use wire::Sink;

use crate::channel::queue::Queue;
use crate::vec::zeroes;

/// Whole messages, of which the oldest make room for new ones.
pub(crate) struct Circular {
    bytes: KVVec<u8>,
    /// The offset of the oldest message.
    start: usize,
    /// Bytes of all messages.
    used: usize,
}

/// The oldest message.
struct Oldest {
    bytes: usize,
    tag: u64,
}

impl Circular {
    /// Memory of `size` bytes, a multiple of 8, without messages.
    pub(crate) fn new(size: usize) -> Result<Circular> {
        let mut bytes = KVVec::new();
        zeroes(&mut bytes, size).map_err(|_| ENOMEM)?;
        Ok(Circular { bytes, start: 0, used: 0 })
    }

    /// Bytes of all messages.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Puts a message in the place of as many of the oldest as are in its way. Returns their number.
    pub(crate) fn put(&mut self, message: &[u8]) -> Result<u64> {
        if message.len() > self.bytes.len() {
            return Err(ENOSPC);
        }
        let mut lost = 0;
        while self.bytes.len() - self.used < message.len() {
            self.drop_oldest()?;
            lost += 1;
        }
        let at = self.place(self.used);
        let before = message.len().min(self.bytes.len() - at);
        let (first, second) = message.split_at_checked(before).ok_or(EINVAL)?;
        for (to, from) in self.bytes.iter_mut().skip(at).zip(first) {
            *to = *from;
        }
        for (to, from) in self.bytes.iter_mut().zip(second) {
            *to = *from;
        }
        self.used += message.len();
        Ok(lost)
    }

    /// Moves the oldest messages to a queue: the first one, and those behind it with which the queue has at most `most` bytes. `before` puts
    /// what precedes the first, whose tag it gets.
    pub(crate) fn drain(
        &mut self,
        queue: &mut Queue,
        most: usize,
        before: impl FnOnce(&mut Queue, u64) -> Result,
    ) -> Result {
        let Some(first) = self.oldest() else { return Ok(()) };
        before(queue, first.tag)?;
        let mut is_first = true;
        while let Some(oldest) = self.oldest().filter(|next| is_first || queue.rest().len() + next.bytes <= most) {
            let before = oldest.bytes.min(self.bytes.len() - self.start);
            let end = queue.end();
            let first = self.bytes.get(self.start..self.start + before).unwrap_or_default();
            let second = self.bytes.get(..oldest.bytes - before).unwrap_or_default();
            if let Err(error) = queue.put(first).and_then(|()| queue.put(second)) {
                // Half a message would make everything behind it unreadable.
                queue.cut(end);
                return Err(error);
            }
            self.drop_oldest()?;
            is_first = false;
        }
        Ok(())
    }

    fn drop_oldest(&mut self) -> Result {
        let oldest = self.oldest().ok_or(EINVAL)?;
        self.start = self.place(oldest.bytes);
        self.used -= oldest.bytes;
        Ok(())
    }

    fn oldest(&self) -> Option<Oldest> {
        // Messages consist of words, so no word lies on both sides of the end.
        let word = |number: usize| {
            self.bytes.get(self.place(number * 8)..)?.first_chunk().map(|word| u64::from_ne_bytes(*word))
        };
        let bytes = word(0)? as u32 as usize * 8;
        (bytes > 0 && bytes <= self.used).then_some(Oldest { bytes, tag: word(1)? })
    }

    /// The offset of the byte that is `behind` bytes behind the first.
    fn place(&self, behind: usize) -> usize {
        let at = self.start + behind;
        if at < self.bytes.len() {
            at
        } else {
            at - self.bytes.len()
        }
    }
}
