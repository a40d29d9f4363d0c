// SPDX-License-Identifier: GPL-2.0

//! What goes to a session's user: replies and events, and who is held for it.

use core::ptr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use kernel::alloc::KVec;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex, SpinLock};
use kernel::{new_mutex, new_spinlock};
use wire::events::Event;

use crate::channel::queue::Queue;
use crate::channel::ring::Ring;
use crate::channel::wait_count::Waiters;
use crate::ffi::{self, Mapping};
use crate::process::debuggee::{Debuggee, Opener};
use crate::thread::held::Held;
use crate::vec::{self, Keep};

/// Unread bytes with which events are lost: half of what makes commands wait.
const MOST_EVENTS: usize = crate::device::session::FULL / 2;
/// Notes with which those of threads are lost.
const MOST_NOTES: usize = 1024;

/// The way from the kernel to a user.
#[pin_data]
pub(crate) struct Channel {
    /// Who opened it.
    pub(crate) opener: Opener,
    #[pin]
    messages: Mutex<Messages>,
    /// Bytes that are not read yet.
    #[pin]
    unread: Waiters,
    #[pin]
    held: Mutex<HeldThreads>,
    /// What happened where nobody may wait, and is not told yet.
    #[pin]
    notes: SpinLock<Notes>,
    #[pin]
    adopted: Mutex<Adopted>,
    /// The number of the next debuggee.
    numbers: AtomicU64,
    /// Debuggees that there are.
    pub(crate) debuggees: AtomicUsize,
}

/// A thread or a process has ended.
pub(crate) struct Note {
    pub(crate) time: u64,
    pub(crate) debuggee: u64,
    /// A thread's number, or a process' status.
    pub(crate) thread: u64,
    pub(crate) status: Option<u32>,
}

struct Notes {
    all: KVec<Note>,
    /// So many could not be noted.
    missed: u64,
}

/// Debuggees that processes became by themselves: what forked, and what executed another program.
struct Adopted {
    all: KVec<Adoptee>,
    /// No more are taken.
    closed: bool,
}

/// A debuggee that a process became.
pub(crate) struct Adoptee {
    pub(crate) debuggee: Debuggee,
    /// Whether it has a number of its own.
    pub(crate) is_new: bool,
    /// The number of what had its own before, where that is kept.
    pub(crate) before: u64,
}

struct Messages {
    queue: Queue,
    /// Where events go, once it is mapped.
    ring: Option<Ring>,
    /// Events that were told or lost.
    events: u64,
    /// Events that were lost and not told of.
    lost: u64,
}

struct HeldThreads {
    threads: KVec<Arc<Held>>,
    /// Nobody is held any more.
    closed: bool,
}

impl Channel {
    /// One that nothing has gone through.
    pub(crate) fn new(opener: Opener) -> Result<Arc<Channel>> {
        let messages = Messages { queue: Queue::new(), ring: None, events: 0, lost: 0 };
        Arc::pin_init(
            pin_init!(Channel {
                opener,
                messages <- new_mutex!(messages, "ntrace messages"),
                unread <- Waiters::new(),
                held <- new_mutex!(HeldThreads { threads: KVec::new(), closed: false }, "ntrace held"),
                notes <- new_spinlock!(Notes { all: KVec::new(), missed: 0 }, "ntrace notes"),
                adopted <- new_mutex!(Adopted { all: KVec::new(), closed: false }, "ntrace adopted"),
                numbers: AtomicU64::new(1),
                debuggees: AtomicUsize::new(0),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Bytes that a reader finds, and who is told when there are some.
    pub(crate) fn unread(&self) -> &Waiters {
        &self.unread
    }

    /// Puts the bytes of a whole message.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result {
        let mut messages = self.messages.lock();
        self.settle(&mut messages);
        let put = wire::Sink::put(&mut messages.queue, bytes);
        self.update(&messages);
        put
    }

    /// Whether a reader finds something, in the ring or not.
    pub(crate) fn is_readable(&self) -> bool {
        let mut messages = self.messages.lock();
        if self.settle(&mut messages) {
            self.update(&messages);
        }
        !messages.queue.rest().is_empty() || messages.ring.as_ref().is_some_and(|ring| !ring.is_empty())
    }

    /// Shows the ring in a mapping; it is made where there is none.
    ///
    /// # Safety
    /// The mapping is one that nobody uses yet.
    pub(crate) unsafe fn map(&self, vma: *mut Mapping) -> Result {
        // SAFETY: the caller's promise.
        let new = Ring::new(unsafe { ffi::ntrace_ring_size(vma) } as u64)?;
        let mut messages = self.messages.lock();
        // SAFETY: the caller's promise.
        unsafe { messages.ring.as_ref().unwrap_or(&new).map(vma)? };
        // One that nobody sees takes no events.
        messages.ring.get_or_insert(new);
        Ok(())
    }

    /// Copies the first bytes for a reader, at most `most`; says whether there are any.
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

    /// Forgets the first bytes, which were read.
    pub(crate) fn take(&self, count: usize) {
        let mut messages = self.messages.lock();
        messages.queue.take(count);
        self.update(&messages);
    }

    /// Tells of an event, or counts it as lost where too much is unread. One of a held thread is told of in any case: somebody
    /// has to let it go.
    pub(crate) fn tell(&self, event: &Event<'_>) -> Result {
        let mut messages = self.messages.lock();
        self.settle(&mut messages);
        let told = messages.tell(event);
        self.update(&messages);
        told
    }

    /// Notes what is told of later. Waits for nothing.
    pub(crate) fn note(&self, note: Note) {
        let mut notes = self.notes.lock();
        let is_room = note.status.is_some() || notes.all.len() < MOST_NOTES;
        if !is_room || notes.all.push(note, GFP_ATOMIC).is_err() {
            notes.missed += 1;
        }
        self.unread.set(self.unread.get() + 1);
    }

    /// Counts an event as lost. Waits for nothing.
    pub(crate) fn miss(&self) {
        self.notes.lock().missed += 1;
    }

    /// Tells of what was noted. Says whether there was something.
    fn settle(&self, messages: &mut Messages) -> bool {
        let mut notes = self.notes.lock();
        let (all, missed) = (core::mem::take(&mut notes.all), core::mem::take(&mut notes.missed));
        drop(notes);
        for &Note { time, debuggee, thread, status } in &all {
            // A loss is counted.
            let _ = messages.tell(&match status {
                Some(status) => Event::Ended { time, debuggee, status: status.into() },
                None => Event::ThreadEnded { time, debuggee, thread },
            });
        }
        messages.events += missed;
        messages.lost += missed;
        !all.is_empty() || missed > 0
    }

    /// Lets readers know how much there is.
    fn update(&self, messages: &Messages) {
        let notes = self.notes.lock();
        self.unread.set(messages.queue.rest().len() + notes.all.len());
    }

    /// The number of the next debuggee.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a debuggee that the session's commands find from now on, in place of the one with the same number unless it is new. Says
    /// whether it did; else it ends.
    pub(crate) fn adopt(&self, adoptee: Adoptee) -> bool {
        let mut adopted = self.adopted.lock();
        if adopted.closed {
            drop(adopted);
            adoptee.debuggee.kill();
            return false;
        }
        let Adoptee { debuggee, is_new, before } = adoptee;
        let old = vec::take(&mut adopted.all, |other| other.debuggee.number == debuggee.number);
        // What nobody asks for must not grow. Both end without the lock.
        let _over = vec::take(&mut adopted.all, |other| other.debuggee.is_gone());
        let (is_new, first) = old.as_ref().map_or((is_new, before), |old| (is_new || old.is_new, old.before));
        let taken = adopted.all.push(Adoptee { debuggee, is_new, before: first }, GFP_KERNEL_ACCOUNT).is_ok();
        let _old = old.map(|old| {
            let debuggee = old.debuggee.renamed(before)?;
            let _ = adopted.all.push(Adoptee { debuggee, is_new: true, before: 0 }, GFP_KERNEL_ACCOUNT);
            Ok::<(), Debuggee>(())
        });
        drop(adopted);
        taken
    }

    /// Gives what was adopted.
    pub(crate) fn adopted(&self) -> KVec<Adoptee> {
        core::mem::take(&mut self.adopted.lock().all)
    }

    /// Nothing is adopted any more; gives what was.
    pub(crate) fn close(&self) -> KVec<Adoptee> {
        self.adopted.lock().closed = true;
        self.adopted()
    }

    /// The number of the thread that runs here, as the opener knows it.
    pub(crate) fn thread(&self) -> u64 {
        // SAFETY: the namespace is the opener's, which has it.
        unsafe { ffi::ntrace_thread_number(ptr::null_mut(), self.opener.namespace()) as u64 }
    }

    /// Notes that a thread is held. Says whether it is to be: not where the session ends.
    pub(crate) fn hold(&self, held: &Arc<Held>) -> bool {
        let mut all = self.held.lock();
        !all.closed && all.threads.push(held.clone(), GFP_KERNEL_ACCOUNT).is_ok()
    }

    /// Forgets a thread that is not held any more.
    pub(crate) fn unhold(&self, held: &Arc<Held>) {
        let mut all = self.held.lock();
        drop(vec::take(&mut all.threads, |other| Arc::ptr_eq(other, held)));
    }

    /// A held thread.
    pub(crate) fn held(&self, thread: u64) -> Option<Arc<Held>> {
        self.held.lock().threads.iter().find(|held| held.thread == thread && held.is_held()).cloned()
    }

    /// Lets all threads of an owner's process go, or all.
    pub(crate) fn release(&self, owner: Option<u64>) {
        let mut all = self.held.lock();
        all.closed |= owner.is_none();
        for held in all.threads.iter().filter(|held| owner.is_none_or(|owner| owner == held.owner)) {
            held.resume();
        }
    }
}

impl Messages {
    fn tell(&mut self, event: &Event<'_>) -> Result {
        self.events += 1;
        let is_held = matches!(event, Event::Held { .. });
        let is_due = is_held || matches!(event, Event::Ended { .. });
        let is_room = is_due || self.ring.is_some() || self.queue.rest().len() < MOST_EVENTS;
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
        let mut told = told.map_err(|error| error.unwrap_or(EINVAL));
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
            // Half a message would make all behind it unreadable.
            self.queue.cut(end);
        }
        told
    }
}
