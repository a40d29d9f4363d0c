// SPDX-License-Identifier: GPL-2.0

//! An address space with breakpoints, and where in it their storage lies.

use core::sync::atomic::{fence, AtomicBool, AtomicPtr, AtomicU32, Ordering};

use fastpath::Storages;
pub(crate) use fastpath::{mark, Storage};
use kernel::bindings;
use kernel::ffi::c_void;
use kernel::prelude::*;
use kernel::sync::lock::mutex::MutexBackend;
use kernel::sync::lock::spinlock::SpinLockBackend;
use kernel::sync::lock::Guard;
use kernel::sync::{Arc, Mutex, SpinLock};
use kernel::{new_mutex, new_spinlock};
use wire::{Failure, Status};

use crate::ffi;
use crate::mm::interrupted_hits::Again;
use crate::process::attachment::{Watch, Why};
use crate::vec;

/// The most sessions that trace it, or attachments of one: each thread that ends looks at all, with a lock that every end takes.
const MOST: usize = 64;

/// A reference to the kernel's description of an address space, not to the memory.
struct Description(*mut c_void);

impl Drop for Description {
    fn drop(&mut self) {
        // SAFETY: who made it took a reference.
        unsafe { ffi::ntrace_memory_drop(self.0) };
    }
}

/// An address space. What a hit needs is read without a lock.
#[pin_data]
pub(crate) struct Space {
    mm: Description,
    /// The next one in the table.
    pub(crate) next: AtomicPtr<Space>,
    /// Debuggees of it; guarded by the table's lock.
    pub(crate) users: AtomicU32,
    /// The copy that a fork made: its breakpoints go before it runs.
    forked: AtomicBool,
    /// Where its breakpoints are stored.
    pub(crate) storages: Storages,
    /// Threads that come to a breakpoint once more.
    pub(crate) again: Again,
    /// Held while breakpoints are set or taken out.
    #[pin]
    changes: Mutex<()>,
    /// Odd while that is held.
    sequence: AtomicU32,
    /// Sessions that trace it.
    #[pin]
    watches: SpinLock<KVec<Arc<Watch>>>,
    /// Sessions that trace the process of which this is a copy that has not run.
    #[pin]
    heirs: SpinLock<KVec<Arc<Watch>>>,
}

// SAFETY: `mm` is a counted reference that belongs to no thread; all else is atomic or has a lock.
unsafe impl Send for Space {}
// SAFETY: the same.
unsafe impl Sync for Space {}

impl Space {
    /// One without storage, of which a reference to `mm` is taken.
    #[inline(never)]
    pub(crate) fn new(mm: *mut c_void, forked: bool, flags: kernel::alloc::Flags) -> Result<Pin<KBox<Space>>> {
        // SAFETY: the caller has a reference of its own.
        unsafe { ffi::ntrace_memory_hold(mm) };
        let mm = Description(mm);
        KBox::pin_init(
            pin_init!(Space {
                mm,
                next: AtomicPtr::new(core::ptr::null_mut()),
                users: AtomicU32::new(1),
                forked: AtomicBool::new(forked),
                storages: Storages::NONE,
                again: Again::NOBODY,
                changes <- new_mutex!((), "ntrace breakpoints"),
                sequence: AtomicU32::new(0),
                watches <- new_spinlock!(KVec::new(), "ntrace watches"),
                heirs <- new_spinlock!(KVec::new(), "ntrace heirs"),
            }),
            flags,
        )
    }

    /// Breakpoints are going to be set or taken out: nobody else does until the answer is dropped.
    #[inline(never)]
    pub(crate) fn change(&self) -> Change<'_> {
        let change = Change { space: self, _locked: self.changes.lock() };
        change.count();
        change
    }

    /// How often changes have begun and ended until now, with all that was read before: odd while there is one.
    pub(crate) fn sequence(&self) -> u32 {
        fence(Ordering::Acquire);
        self.sequence.load(Ordering::Relaxed)
    }

    /// The kernel's description of it.
    pub(crate) fn mm(&self) -> *mut c_void {
        self.mm.0
    }

    /// Whether it is the copy that a fork made and that has not run yet.
    pub(crate) fn is_forked(&self) -> bool {
        self.forked.load(Ordering::Relaxed)
    }

    /// Whether it was that copy until now: whoever asks first ends the use that the fork made.
    pub(crate) fn take_forked(&self) -> bool {
        self.forked.swap(false, Ordering::AcqRel)
    }

    /// Notes a session that traces it.
    pub(crate) fn add_watch(&self, watch: &Arc<Watch>) -> Result<(), Failure> {
        let mut watches = self.watches.lock();
        if watches.len() >= MOST {
            return Err(Failure::new(Status::Limit, MOST as u64));
        }
        watches.push(watch.clone(), GFP_ATOMIC).map_err(|_| Status::NoMemory.into())
    }

    /// Forgets a session.
    pub(crate) fn forget_watch(&self, owner: u64) {
        drop(vec::take(&mut self.watches.lock(), |watch| watch.owner == owner));
    }

    /// The session with this number.
    pub(crate) fn watch(&self, owner: u64) -> Option<Arc<Watch>> {
        self.watches.lock().iter().find(|watch| watch.owner == owner).cloned()
    }

    /// The session that has called the thread that runs here, at this address, and why.
    pub(crate) fn calling(&self, pc: u64) -> Option<(Arc<Watch>, Why)> {
        self.watches().iter().find_map(|watch| Some((watch.clone(), watch.called_this(pc)?)))
    }

    /// All sessions that trace it, locked.
    #[inline(never)]
    pub(crate) fn watches(&self) -> Guard<'_, KVec<Arc<Watch>>, SpinLockBackend> {
        self.watches.lock()
    }

    /// Sessions that trace a process that is being forked.
    pub(crate) fn heirs(&self) -> Result<KVec<Arc<Watch>>> {
        let watches = self.watches();
        let mut heirs = KVec::new();
        heirs.reserve(watches.len(), GFP_ATOMIC)?;
        for watch in watches.iter() {
            heirs.push(watch.clone(), GFP_ATOMIC)?;
        }
        Ok(heirs)
    }

    /// Notes who traces the process of which this is a copy.
    pub(crate) fn set_heirs(&self, heirs: KVec<Arc<Watch>>) {
        *self.heirs.lock() = heirs;
    }

    /// Gives and forgets them.
    pub(crate) fn take_heirs(&self) -> KVec<Arc<Watch>> {
        core::mem::take(&mut *self.heirs.lock())
    }

    /// What was copied by a fork and is no session's now belongs to nobody.
    pub(crate) fn disown(&self) {
        let _change = self.change();
        for storage in self.storages.iter().filter(|storage| self.watch(storage.owner).is_none()) {
            self.storages.give(&storage, 0);
        }
    }

    /// Forgets storages; returns when no hit uses them. Called with `changes` held.
    pub(crate) fn forget(&self, owner: u64) {
        self.storages.forget(owner);
        wait_for_hits();
    }
}

/// While this is there breakpoints are being changed, and who finds none may find one later.
pub(crate) struct Change<'a> {
    space: &'a Space,
    _locked: Guard<'a, (), MutexBackend>,
}

impl Change<'_> {
    #[inline(never)]
    fn count(&self) {
        fence(Ordering::SeqCst);
        self.space.sequence.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }
}

impl Drop for Change<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        self.count();
    }
}

/// Returns when all hits that began before have left to user mode or wait for a page.
pub(crate) fn wait_for_hits() {
    // SAFETY: called where sleeping is allowed.
    unsafe { bindings::synchronize_rcu() };
}
