// SPDX-License-Identifier: GPL-2.0

//! A channel: replies and events on their way to the user of a session.

use core::sync::atomic::{AtomicUsize, Ordering};

use kernel::alloc::KVec;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex, SpinLock};
use kernel::{new_mutex, new_spinlock};
use wire::buffer::{Buffer, Mode};
use wire::events::Event;

use crate::channel::circular::Circular;
use crate::channel::messages::{Messages, FULL};
use crate::channel::opener::Opener;
use crate::channel::reader::Reader;
use crate::channel::ring::Ring;
use crate::channel::wait_count::WaitCount;
use crate::ffi::{self, File, PollTable, Vma};
use crate::vec::{unsleeping, Keep};

/// Notes that make a channel lose those of threads.
const MOST_NOTES: usize = 1024;

/// The channel from the kernel to the user of a session.
#[pin_data]
pub(crate) struct Channel {
    pub(crate) opener: Opener,
    #[pin]
    messages: Mutex<Messages>,
    /// Bytes in the queue of `messages`, and notes. Writers wait for it.
    #[pin]
    unread: WaitCount,
    /// Bytes that are kept in the mode circular.
    kept: AtomicUsize,
    /// 1 where a reader of the stream is woken, else 0. Readers of the ring wait for it, too.
    #[pin]
    ready: WaitCount,
    /// Grows with whatever may end the wait of a thread for room.
    #[pin]
    room: WaitCount,
    /// Threads that wait for room.
    waiting: AtomicUsize,
    reader: Reader,
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

impl Channel {
    /// An empty channel.
    pub(crate) fn new(opener: Opener) -> Result<Arc<Channel>> {
        Arc::pin_init(
            pin_init!(Channel {
                opener,
                messages <- new_mutex!(Messages::NONE, "ntrace messages"),
                unread <- WaitCount::new(),
                kept: AtomicUsize::new(0),
                ready <- WaitCount::new(),
                room <- WaitCount::new(),
                waiting: AtomicUsize::new(0),
                reader: Reader::none(),
                notes <- new_spinlock!(Notes { all: KVec::new(), missed: 0 }, "ntrace notes"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// The number of notes and of unread bytes in the queue. The bytes that the mode circular keeps are not among these.
    pub(crate) fn unread(&self) -> &WaitCount {
        &self.unread
    }

    /// The number of all unread bytes and notes.
    pub(crate) fn all_unread(&self) -> usize {
        self.unread.get() + self.kept.load(Ordering::Relaxed)
    }

    /// Sleeps until a reader of the stream is woken. A signal interrupts it.
    pub(crate) fn wait_to_read(&self) -> Result {
        self.ready.wait(1..2)
    }

    /// Adds what readers and writers wait for to what wakes a poller.
    ///
    /// # Safety
    /// `file` is being polled with `table`, and the channel lives as long as the file.
    pub(crate) unsafe fn poll(&self, file: *mut File, table: *mut PollTable) {
        // SAFETY: the caller vouches for file and table, and for the life of the queues.
        unsafe {
            self.unread.poll(file, table);
            self.ready.poll(file, table);
        }
    }

    /// Notes that the current process is the one that reads.
    pub(crate) fn note_reader(&self) {
        self.reader.note();
    }

    /// The mode, and the number of threads that wait for room.
    pub(crate) fn state(&self) -> (Mode, usize) {
        (self.messages.lock().buffer().mode, self.waiting.load(Ordering::Relaxed))
    }

    /// Sets what happens to events without room, and when a reader is woken.
    pub(crate) fn set_buffer(&self, buffer: Buffer) -> Result {
        let circular = match buffer.mode {
            Mode::Circular => Some(Circular::new(buffer.size as usize)?),
            Mode::Drop | Mode::Lossless => None,
        };
        let mut messages = self.messages.lock();
        self.settle(&mut messages);
        let set = messages.set_buffer(buffer, circular);
        self.update(&mut messages);
        self.room.add(1);
        set
    }

    /// Puts the bytes of a whole reply.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result {
        let mut messages = self.messages.lock();
        self.settle(&mut messages);
        let put = messages.reply(bytes);
        self.update(&mut messages);
        put
    }

    /// Whether a poller finds something to read, in the ring or in the stream.
    pub(crate) fn is_readable(&self) -> bool {
        let mut messages = self.messages.lock();
        self.settle(&mut messages);
        messages.look();
        self.update(&mut messages);
        // The reader of a ring may have made room.
        self.room.add(1);
        self.ready.get() > 0 || messages.is_ring_due()
    }

    /// Maps the ring of events, which the first mapping creates.
    ///
    /// # Safety
    /// The kernel is creating `vma` by mmap(2), and nobody else uses it yet.
    pub(crate) unsafe fn map(&self, vma: *mut Vma) -> Result {
        // SAFETY: the caller vouches for `vma`.
        let new = Ring::new(unsafe { ffi::ntrace_ring_size(vma) } as u64)?;
        let mut messages = self.messages.lock();
        let ring = messages.ring();
        // SAFETY: the caller vouches for `vma`.
        unsafe { ring.as_ref().unwrap_or(&new).map(vma)? };
        // A ring that is not mapped must not take events, so it is kept only now.
        ring.get_or_insert(new);
        Ok(())
    }

    /// Copies up to `most` unread bytes for a reader. Returns whether there are any.
    pub(crate) fn next(&self, piece: &mut KVVec<u8>, most: usize) -> Result<bool> {
        piece.keep(0);
        let mut messages = self.messages.lock();
        self.settle(&mut messages);
        messages.look();
        let next = messages.next(piece, most);
        self.update(&mut messages);
        next?;
        Ok(!piece.is_empty())
    }

    /// Removes the first `count` bytes after they were read.
    pub(crate) fn take(&self, count: usize) {
        let mut messages = self.messages.lock();
        messages.take(count);
        self.update(&mut messages);
        self.room.add(1);
    }

    /// Tells of an event of the current thread, which waits for room in the mode lossless unless `is_over` holds. An event without room is
    /// counted as lost. `is_hit` as for [`Messages::tell`].
    pub(crate) fn tell_or_wait(&self, event: &Event<'_>, is_hit: bool, is_over: impl Fn() -> bool) {
        loop {
            let known = self.room.get();
            match self.tell(event, self.may_wait() && !is_over(), is_hit) {
                Err(error) if error == EAGAIN => self.wait_for_change(known),
                _ => return,
            }
        }
    }

    /// Sleeps until there is room for events that are no hits, in the mode lossless unless `is_over` holds.
    pub(crate) fn wait_for_room(&self, is_over: impl Fn() -> bool) {
        loop {
            let known = self.room.get();
            let messages = self.messages.lock();
            let is_lossless = messages.buffer().mode == Mode::Lossless;
            let waits = is_lossless && !messages.has_reserve();
            drop(messages);
            if !waits || !self.may_wait() || is_over() {
                return;
            }
            self.wait_for_change(known);
        }
    }

    /// Has threads that wait for room look again, because tracing has ended for some.
    pub(crate) fn look_again(&self) {
        self.room.add(1);
    }

    /// Whether the current thread may wait for room: not if its process is the one that makes it, and not if it was killed.
    fn may_wait(&self) -> bool {
        // SAFETY: the function looks at the current thread.
        let is_killed = unsafe { ffi::ntrace_is_killed() };
        !is_killed && !self.reader.is_this()
    }

    fn wait_for_change(&self, known: usize) {
        // The reader of a ring makes room without a call.
        let moments = self.messages.lock().ring().is_some().into();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.room.wait_change(known, moments);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Tells of an event, as [`Messages::tell`] does.
    pub(crate) fn tell(&self, event: &Event<'_>, waits: bool, is_hit: bool) -> Result {
        let mut messages = self.messages.lock();
        self.settle(&mut messages);
        let told = messages.tell(event, waits, is_hit);
        self.update(&mut messages);
        told
    }

    /// Notes an event. Does not sleep.
    pub(crate) fn note(&self, note: Note) {
        let mut notes = self.notes.lock();
        let is_room = note.status.is_some() || notes.all.len() < MOST_NOTES;
        if !is_room || notes.all.push(note, unsleeping()).is_err() {
            notes.missed += 1;
        }
        self.unread.fall(self.unread.get() + 1, FULL);
        self.ready.raise(true);
    }

    /// Whether events that are no hits are lost, because too much is unread.
    pub(crate) fn is_full(&self) -> bool {
        !self.messages.lock().has_reserve()
    }

    /// Counts an event as lost. Does not sleep.
    pub(crate) fn miss(&self) {
        self.notes.lock().missed += 1;
    }

    /// Tells of all notes.
    fn settle(&self, messages: &mut Messages) {
        let mut notes = self.notes.lock();
        let (all, missed) = (core::mem::take(&mut notes.all), core::mem::take(&mut notes.missed));
        drop(notes);
        for &Note { time, debuggee, thread, status } in &all {
            // `tell` counts what it loses.
            let event = match status {
                Some(status) => Event::Ended { time, debuggee, status: status.into() },
                None => Event::ThreadEnded { time, debuggee, thread },
            };
            let _ = messages.tell(&event, false, false);
        }
        messages.miss(missed);
    }

    /// Sets the numbers that readers and writers wait for.
    fn update(&self, messages: &mut Messages) {
        let wakes = messages.take_wakes();
        self.kept.store(messages.kept(), Ordering::Relaxed);
        let notes = self.notes.lock();
        self.unread.fall(messages.len() + notes.all.len(), FULL);
        self.ready.raise(messages.is_due() || !notes.all.is_empty());
        if wakes {
            self.ready.wake();
        }
    }
}

/// The time of an event: nanoseconds of the monotonic clock.
pub(crate) fn time() -> u64 {
    // SAFETY: `ktime_get` may be called from any context.
    unsafe { kernel::bindings::ktime_get() as u64 }
}
