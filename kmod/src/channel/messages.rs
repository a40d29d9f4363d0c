// SPDX-License-Identifier: GPL-2.0

//! The unread messages of a channel, and what becomes of events without room.

use kernel::prelude::*;
use wire::buffer::{Buffer, Mode};
use wire::events::Event;
use wire::Sink;

use crate::channel::circular::Circular;
use crate::channel::queue::Queue;
use crate::channel::ring::Ring;

/// Unread bytes that make a session stop carrying out commands. A reply may be longer.
pub(crate) const FULL: usize = 1 << 20;

/// Room for events that are no hits where hits have taken theirs: threads and processes are rarer, and a user must know of them.
const RESERVE: u64 = 512 << 10;

/// Unread messages.
pub(crate) struct Messages {
    queue: Queue,
    /// Unread bytes up to the end of the last reply. A reply has the length for which its command asked, so it takes no room of events; and
    /// where events before it have not been read, [`FULL`] bounds them.
    replied: usize,
    /// Takes the events once a user has mapped it.
    ring: Option<Ring>,
    /// Has the events in the mode circular.
    circular: Option<Circular>,
    buffer: Buffer,
    /// Number of events so far, lost ones included.
    events: u64,
    /// Number of lost events that the user does not know of yet.
    lost: u64,
    /// Whether readers are woken below the low-water mark, until everything is read.
    is_urgent: bool,
    /// Whether readers of the ring shall be woken.
    wakes: bool,
}

impl Messages {
    pub(crate) const NONE: Messages = Messages {
        queue: Queue::new(),
        replied: 0,
        ring: None,
        circular: None,
        buffer: Buffer::NEW,
        events: 0,
        lost: 0,
        is_urgent: false,
        wakes: false,
    };

    /// Unread bytes of the queue.
    pub(crate) fn len(&self) -> usize {
        self.queue.rest().len()
    }

    /// Unread bytes of the mode circular, which come behind the queue.
    pub(crate) fn kept(&self) -> usize {
        self.circular.as_ref().map_or(0, Circular::len)
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Whether there is room for further hits.
    fn has_room(&self) -> bool {
        self.unreplied() < self.buffer.size
    }

    /// Whether there is room for further events that are no hits.
    pub(crate) fn has_reserve(&self) -> bool {
        self.unreplied() < self.buffer.size + RESERVE
    }

    /// Unread bytes of the queue behind the last reply.
    fn unreplied(&self) -> u64 {
        self.len().saturating_sub(self.replied) as u64
    }

    /// Whether a reader of the stream is woken.
    pub(crate) fn is_due(&self) -> bool {
        let there = self.len() + self.kept();
        there > 0 && (there as u64 >= self.buffer.mark || self.is_urgent || self.replied > 0)
    }

    /// Whether a reader of the ring is woken.
    pub(crate) fn is_ring_due(&self) -> bool {
        let there = self.ring.as_ref().map_or(0, Ring::len);
        there > 0 && (there >= self.buffer.mark || self.is_urgent)
    }

    /// Whether readers of the ring shall be woken since the last call.
    pub(crate) fn take_wakes(&mut self) -> bool {
        core::mem::take(&mut self.wakes)
    }

    /// The ring, which `new` becomes if there is none.
    pub(crate) fn ring(&mut self) -> &mut Option<Ring> {
        &mut self.ring
    }

    /// Sets the buffer. `circular` is the memory for the mode circular. All unread events are kept.
    pub(crate) fn set_buffer(&mut self, buffer: Buffer, circular: Option<Circular>) -> Result {
        self.drain(usize::MAX)?;
        self.buffer = buffer;
        self.circular = circular;
        // What is unread may have been below the old mark.
        self.wakes = true;
        Ok(())
    }

    /// Puts the bytes of a whole reply.
    pub(crate) fn reply(&mut self, bytes: &[u8]) -> Result {
        let put = self.queue.put(bytes);
        self.replied = self.len();
        put
    }

    /// Appends up to `most` unread bytes to `piece`.
    pub(crate) fn next(&mut self, piece: &mut KVVec<u8>, most: usize) -> Result {
        if self.len() == 0 {
            self.drain(most)?;
        }
        let rest = self.queue.rest();
        Ok(piece.extend_from_slice(rest.get(..most).unwrap_or(rest), GFP_KERNEL_ACCOUNT)?)
    }

    /// Removes the first `count` bytes after they were read.
    pub(crate) fn take(&mut self, count: usize) {
        self.queue.take(count);
        self.replied = self.replied.saturating_sub(count);
        self.look();
    }

    /// Tells of lost events where everything before them is read, and forgets what was urgent then.
    pub(crate) fn look(&mut self) {
        if self.len() + self.kept() > 0 || self.ring.as_ref().is_some_and(|ring| ring.len() > 0) {
            return;
        }
        self.is_urgent = false;
        if self.lost == 0 {
            return;
        }
        let end = self.queue.end();
        let lost = Event::Lost { count: self.lost };
        if lost.encode(&mut self.queue, self.events).is_err() {
            self.queue.cut(end);
            return;
        }
        (self.lost, self.is_urgent) = (0, true);
        if let (None, Some(ring)) = (&self.circular, &mut self.ring) {
            if ring.put(self.queue.behind(end), 1).is_ok() {
                self.queue.cut(end);
            }
        }
    }

    /// Counts events that were lost.
    pub(crate) fn miss(&mut self, count: u64) {
        self.events += count;
        self.lost += count;
    }

    /// Tells of an event. Where there is no room, the event is counted as lost, or the call fails with EAGAIN and changes nothing: in the mode
    /// lossless if the thread `waits`, and for the event of a held thread always, whose thread waits then. `is_hit` says whether it is one of the
    /// many: a hit, or a system call or signal at which the thread is not held.
    pub(crate) fn tell(&mut self, event: &Event<'_>, waits: bool, is_hit: bool) -> Result {
        let is_held = matches!(event, Event::Held { .. });
        let is_lossless = self.buffer.mode == Mode::Lossless;
        let is_due = match event {
            _ if is_hit => false,
            Event::Ended { .. } => true,
            // The threads of a debuggee may be held again and again, and ended by execve before anybody has read that they were.
            Event::Held { .. } => self.len() < FULL,
            _ => self.has_reserve(),
        };
        let has_place = is_due || self.takes(is_hit) || is_hit && self.has_room();
        let told = if has_place { self.write(event, is_due) } else { Err(ENOSPC) };
        match told {
            Ok(()) => self.events += 1,
            Err(error) if error == ENOSPC && (is_held || is_lossless && waits) => {
                self.hurry();
                return Err(EAGAIN);
            }
            Err(_) if is_held => {}
            Err(_) => self.miss(1),
        }
        if !is_hit || told.is_err() {
            self.hurry();
        }
        told
    }

    /// Whether another place than the queue takes an event that is not due, if that has room: in the mode circular hits alone.
    fn takes(&self, is_hit: bool) -> bool {
        match (&self.circular, &self.ring) {
            (Some(_), _) => is_hit,
            (None, ring) => ring.is_some(),
        }
    }

    /// Has readers woken below the low-water mark.
    fn hurry(&mut self) {
        self.wakes |= !self.is_urgent;
        self.is_urgent = true;
    }

    fn write(&mut self, event: &Event<'_>, is_due: bool) -> Result {
        let (number, end) = (self.events + 1, self.queue.end());
        // In the mode circular the events that are missing come before the oldest that is left.
        let lost = if self.circular.is_some() { 0 } else { self.lost };
        let told = if lost == 0 { Ok(()) } else { Event::Lost { count: lost }.encode(&mut self.queue, number - 1) };
        let told = told.and_then(|()| event.encode(&mut self.queue, number));
        let mut told = told.map_err(|error| error.into_sink().unwrap_or(EINVAL));
        let mut elsewhere = false;
        if told.is_ok() {
            let message = self.queue.behind(end);
            match (&mut self.circular, &mut self.ring) {
                (Some(circular), _) if !is_due => {
                    told = circular.put(message).map(|lost| self.lost += lost);
                    elsewhere = true;
                }
                (None, Some(ring)) => match ring.put(message, self.buffer.mark) {
                    Ok(is_reached) => (elsewhere, self.wakes) = (true, self.wakes | is_reached),
                    Err(_) if is_due => {}
                    Err(error) => told = Err(error),
                },
                _ => {}
            }
        }
        if told.is_ok() {
            self.lost -= lost;
        }
        if told.is_err() || elsewhere {
            // Half a message would make everything behind it unreadable.
            self.queue.cut(end);
        }
        told
    }

    /// Moves the oldest events of the mode circular to the queue: one, and as many as `most` bytes of the queue have room for.
    fn drain(&mut self, most: usize) -> Result {
        let Some(circular) = &mut self.circular else { return Ok(()) };
        let lost = &mut self.lost;
        circular.drain(&mut self.queue, most, |queue, tag| {
            if *lost > 0 {
                let end = queue.end();
                Event::Lost { count: *lost }.encode(queue, tag - 1).map_err(|error| {
                    queue.cut(end);
                    error.into_sink().unwrap_or(EINVAL)
                })?;
                *lost = 0;
            }
            Ok(())
        })
    }
}
