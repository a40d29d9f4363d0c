// SPDX-License-Identifier: GPL-2.0

//! A channel: replies and events on their way to the user of a session.

use kernel::alloc::KVec;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex, SpinLock};
use kernel::{new_mutex, new_spinlock};
use wire::events::Event;

use crate::channel::opener::Opener;
use crate::channel::queue::Queue;
use crate::channel::ring::Ring;
use crate::channel::wait_count::WaitCount;
use crate::ffi::{self, Vma};
use crate::vec::{unsleeping, Keep};

/// Unread bytes that make a session stop carrying out commands. A reply may be longer.
pub(crate) const FULL: usize = 1 << 20;
/// Unread bytes of events behind the last reply that make a channel lose events. A reply has the length for which its command asked, so it
/// takes no room of events; and where events before it have not been read, [`FULL`] bounds them.
const MOST_EVENTS: usize = FULL / 2;
/// Notes that make a channel lose those of threads.
const MOST_NOTES: usize = 1024;

/// The channel from the kernel to the user of a session.
#[pin_data]
pub(crate) struct Channel {
    pub(crate) opener: Opener,
    #[pin]
    messages: Mutex<Messages>,
    /// Bytes in `messages`, and notes.
    #[pin]
    unread: WaitCount,
    /// Events of threads that cannot sleep, to be told of later.
    #[pin]
    notes: SpinLock<Notes>,
}

/// The end of a thread or of a process.
pub(crate) struct Note {
    pub(crate) time: u64,
    pub(crate) debuggee: u64,
    /// The number of the thread that has ended.
    pub(crate) thread: u64,
    /// The status of the process that has ended.
    pub(crate) status: Option<u32>,
}

struct Notes {
    all: KVec<Note>,
    /// Number of events that could not be noted.
    missed: u64,
}

struct Messages {
    queue: Queue,
    /// Unread bytes up to the end of the last reply.
    replied: usize,
    /// Takes the events once a user has mapped it.
    ring: Option<Ring>,
    /// Number of events so far, lost ones included.
    events: u64,
    /// Number of lost events that the user does not know of yet.
    lost: u64,
}

impl Channel {
    /// An empty channel.
    pub(crate) fn new(opener: Opener) -> Result<Arc<Channel>> {
        let messages = Messages { queue: Queue::new(), replied: 0, ring: None, events: 0, lost: 0 };
        Arc::pin_init(
            pin_init!(Channel {
                opener,
                messages <- new_mutex!(messages, "ntrace messages"),
                unread <- WaitCount::new(),
                notes <- new_spinlock!(Notes { all: KVec::new(), missed: 0 }, "ntrace notes"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// The number of unread bytes and notes.
    pub(crate) fn unread(&self) -> &WaitCount {
        &self.unread
    }

    /// Puts the bytes of a whole reply.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result {
        let mut messages = self.messages.lock();
        self.settle(&mut messages);
        let put = wire::Sink::put(&mut messages.queue, bytes);
        messages.replied = messages.queue.rest().len();
        self.update(&messages);
        put
    }

    /// Whether a reader finds something, in the ring or in the queue.
    pub(crate) fn is_readable(&self) -> bool {
        let mut messages = self.messages.lock();
        if self.settle(&mut messages) {
            self.update(&messages);
        }
        !messages.queue.rest().is_empty() || messages.ring.as_ref().is_some_and(|ring| !ring.is_empty())
    }

    /// Maps the ring of events, which the first mapping creates.
    ///
    /// # Safety
    /// The kernel is creating `vma` by mmap(2), and nobody else uses it yet.
    pub(crate) unsafe fn map(&self, vma: *mut Vma) -> Result {
        // SAFETY: the caller vouches for `vma`.
        let new = Ring::new(unsafe { ffi::ntrace_ring_size(vma) } as u64)?;
        let mut messages = self.messages.lock();
        // SAFETY: the caller vouches for `vma`.
        unsafe { messages.ring.as_ref().unwrap_or(&new).map(vma)? };
        // A ring that is not mapped must not take events, so it is kept only now.
        messages.ring.get_or_insert(new);
        Ok(())
    }

    /// Copies up to `most` unread bytes for a reader. Returns whether there are any.
    pub(crate) fn next(&self, piece: &mut KVVec<u8>, most: usize) -> Result<bool> {
        piece.keep(0);
        let mut messages = self.messages.lock();
        if self.settle(&mut messages) {
            self.update(&messages);
        }
        let rest = messages.queue.rest();
        piece.extend_from_slice(rest.get(..most).unwrap_or(rest), GFP_KERNEL_ACCOUNT)?;
        Ok(!piece.is_empty())
    }

    /// Removes the first `count` bytes after they were read.
    pub(crate) fn take(&self, count: usize) {
        let mut messages = self.messages.lock();
        messages.queue.take(count);
        messages.replied = messages.replied.saturating_sub(count);
        self.update(&messages);
    }

    /// Tells of an event, or counts it as lost if too much is unread. The event of a held thread is never counted as lost: where there is no
    /// room it fails with ENOSPC, and the thread waits.
    pub(crate) fn tell(&self, event: &Event<'_>) -> Result {
        let mut messages = self.messages.lock();
        self.settle(&mut messages);
        let told = messages.tell(event);
        self.update(&messages);
        told
    }

    /// Notes an event. Does not sleep.
    pub(crate) fn note(&self, note: Note) {
        let mut notes = self.notes.lock();
        let is_room = note.status.is_some() || notes.all.len() < MOST_NOTES;
        if !is_room || notes.all.push(note, unsleeping()).is_err() {
            notes.missed += 1;
        }
        self.unread.set(self.unread.get() + 1);
    }

    /// Whether events are lost, because too much is unread.
    pub(crate) fn is_full(&self) -> bool {
        !self.messages.lock().has_room()
    }

    /// Counts an event as lost. Does not sleep.
    pub(crate) fn miss(&self) {
        self.notes.lock().missed += 1;
    }

    /// Tells of all notes. Returns whether there were any.
    fn settle(&self, messages: &mut Messages) -> bool {
        let mut notes = self.notes.lock();
        let (all, missed) = (core::mem::take(&mut notes.all), core::mem::take(&mut notes.missed));
        drop(notes);
        for &Note { time, debuggee, thread, status } in &all {
            // `tell` counts what it loses.
            let _ = messages.tell(&match status {
                Some(status) => Event::Ended { time, debuggee, status: status.into() },
                None => Event::ThreadEnded { time, debuggee, thread },
            });
        }
        messages.events += missed;
        messages.lost += missed;
        !all.is_empty() || missed > 0
    }

    /// Sets the number that readers wait for.
    fn update(&self, messages: &Messages) {
        let notes = self.notes.lock();
        self.unread.set(messages.queue.rest().len() + notes.all.len());
    }
}

impl Messages {
    /// Whether the queue takes further events.
    fn has_room(&self) -> bool {
        self.queue.rest().len().saturating_sub(self.replied) < MOST_EVENTS
    }

    fn tell(&mut self, event: &Event<'_>) -> Result {
        self.events += 1;
        let is_held = matches!(event, Event::Held { .. });
        // Each debuggee ends once, but its threads may be held again and again, and ended by execve before anybody has read that they were.
        let is_due = if is_held { self.queue.rest().len() < FULL } else { matches!(event, Event::Ended { .. }) };
        let is_room = is_due || self.ring.is_some() || self.has_room();
        let told = if is_room { self.write(event, self.events, is_due) } else { Err(ENOSPC) };
        if told.is_err() && !is_held {
            self.lost += 1;
        }
        told
    }

    fn write(&mut self, event: &Event<'_>, number: u64, is_due: bool) -> Result {
        let end = self.queue.end();
        let lost = self.lost;
        let told = if lost == 0 { Ok(()) } else { Event::Lost { count: lost }.encode(&mut self.queue, number - 1) };
        let told = told.and_then(|()| event.encode(&mut self.queue, number));
        let mut told = told.map_err(|error| error.into_sink().unwrap_or(EINVAL));
        if let (Ok(()), Some(ring)) = (told, &mut self.ring) {
            told = ring.put(self.queue.behind(end));
            if told.is_ok() {
                self.queue.cut(end);
            } else if is_due {
                told = Ok(());
            }
        }
        if told.is_ok() {
            self.lost = 0;
        } else {
            // Half a message would make everything behind it unreadable.
            self.queue.cut(end);
        }
        told
    }
}

/// The time of an event: nanoseconds of the monotonic clock.
pub(crate) fn time() -> u64 {
    // SAFETY: `ktime_get` may be called from any context.
    unsafe { kernel::bindings::ktime_get() as u64 }
}
