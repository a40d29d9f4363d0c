// SPDX-License-Identifier: GPL-2.0

//! What debuggees' threads and the commands of a session share: rules, held threads, and debuggees that processes became by fork and exec.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use kernel::alloc::KVec;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use wire::{Failure, Status};

use crate::channel::channel::Channel;
use crate::channel::wait_count::WaitCount;
use crate::process::debuggee::Debuggee;
use crate::rules::table::Rules;
use crate::thread::held::Held;
use crate::vec;

/// Debuggees of a session at most. Each keeps the description of its memory.
const MOST: usize = 1 << 12;

/// The held threads and the new debuggees of a session.
#[pin_data]
pub(crate) struct Registry {
    pub(crate) channel: Arc<Channel>,
    #[pin]
    held: Mutex<HeldThreads>,
    #[pin]
    adopted: Mutex<Adopted>,
    /// The next debuggee's number.
    numbers: AtomicU64,
    /// Number of debuggees.
    debuggees: AtomicUsize,
    /// The rules and aggregates.
    #[pin]
    pub(crate) rules: Rules,
    /// Number of debuggees whose breakpoints are being removed.
    #[pin]
    pub(crate) endings: WaitCount,
}

struct HeldThreads {
    threads: KVec<Arc<Held>>,
    /// The session ends: no further thread is held.
    closed: bool,
}

/// Debuggees that processes became by fork and exec, until the next command takes them.
struct Adopted {
    all: KVec<Adoptee>,
    /// The session ends: no further debuggee is taken.
    closed: bool,
}

/// A debuggee that a process became by fork or exec.
pub(crate) struct Adoptee {
    pub(crate) debuggee: Debuggee,
    /// Whether it has a new number. Otherwise it replaces the debuggee with its number.
    pub(crate) is_new: bool,
    /// The new number of the replaced debuggee if its memory is kept, otherwise 0.
    pub(crate) before: u64,
}

impl Registry {
    /// An empty registry.
    pub(crate) fn new(channel: Arc<Channel>) -> Result<Arc<Registry>> {
        Arc::pin_init(
            pin_init!(Registry {
                channel,
                held <- new_mutex!(HeldThreads { threads: KVec::new(), closed: false }, "ntrace held"),
                adopted <- new_mutex!(Adopted { all: KVec::new(), closed: false }, "ntrace adopted"),
                numbers: AtomicU64::new(1),
                debuggees: AtomicUsize::new(0),
                rules <- Rules::none(),
                endings <- WaitCount::new(),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// A number for the next debuggee.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Fails where the session has as many debuggees as it may have.
    pub(crate) fn has_room(&self) -> Result<(), Failure> {
        if self.debuggees.load(Ordering::Relaxed) < MOST {
            Ok(())
        } else {
            Err(Failure::new(Status::Limit, MOST as u64))
        }
    }

    /// Counts a debuggee.
    pub(crate) fn count(&self) {
        self.debuggees.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a debuggee no longer.
    pub(crate) fn uncount(&self) {
        self.debuggees.fetch_sub(1, Ordering::Relaxed);
    }

    /// Hands a debuggee to the session's commands. Unless it is new it replaces the debuggee with its number. Returns whether the session
    /// takes it; otherwise the debuggee ends.
    pub(crate) fn adopt(&self, adoptee: Adoptee) -> bool {
        let mut adopted = self.adopted.lock();
        if adopted.closed {
            drop(adopted);
            adoptee.debuggee.kill();
            return false;
        }
        let Adoptee { debuggee, is_new, before } = adoptee;
        let old = vec::take(&mut adopted.all, |other| other.debuggee.number == debuggee.number);
        // A session that sends no command must not let the list grow. `_gone` and `_old` are dropped after the lock.
        let _gone = vec::take(&mut adopted.all, |other| other.debuggee.is_gone());
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

    /// Removes and returns the adopted debuggees.
    pub(crate) fn adopted(&self) -> KVec<Adoptee> {
        core::mem::take(&mut self.adopted.lock().all)
    }

    /// Refuses further debuggees. Removes and returns the adopted ones.
    pub(crate) fn close(&self) -> KVec<Adoptee> {
        self.adopted.lock().closed = true;
        self.adopted()
    }

    /// Adds a held thread. Returns whether the thread shall wait: not where the session ends.
    pub(crate) fn hold(&self, held: &Arc<Held>) -> bool {
        let mut all = self.held.lock();
        !all.closed && all.threads.push(held.clone(), GFP_KERNEL_ACCOUNT).is_ok()
    }

    /// Removes a thread that is held no longer.
    pub(crate) fn unhold(&self, held: &Arc<Held>) {
        let mut all = self.held.lock();
        drop(vec::take(&mut all.threads, |other| Arc::ptr_eq(other, held)));
    }

    /// The held thread with a number.
    pub(crate) fn held(&self, thread: u64) -> Option<Arc<Held>> {
        self.held.lock().threads.iter().find(|held| held.thread == thread && held.is_held()).cloned()
    }

    /// Resumes the held threads of an attachment.
    pub(crate) fn release(&self, attachment: u64) {
        self.resume(&self.held.lock().threads, Some(attachment));
    }

    /// Resumes all held threads and refuses further ones.
    pub(crate) fn release_all(&self) {
        let mut all = self.held.lock();
        all.closed = true;
        self.resume(&all.threads, None);
    }

    fn resume(&self, threads: &[Arc<Held>], attachment: Option<u64>) {
        for held in threads.iter().filter(|held| attachment.is_none_or(|attachment| attachment == held.attachment)) {
            held.resume();
        }
    }
}
