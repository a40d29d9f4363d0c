// SPDX-License-Identifier: GPL-2.0

//! The breakpoints of an address space: where their storages lie, and who changes them.

use core::sync::atomic::{fence, AtomicU32, Ordering};

use fastpath::Storages;
use kernel::bindings;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::lock::mutex::MutexBackend;
use kernel::sync::lock::Guard;
use kernel::sync::Mutex;

use crate::ffi::Mm;
use crate::mm::interrupted_hits::InterruptedHits;
use crate::mm::mm_ref::MmRef;

/// An address space that may have breakpoints. Hits read it without a lock.
#[pin_data]
pub(crate) struct Space {
    mm: MmRef,
    pub(crate) storages: Storages,
    pub(crate) interrupted: InterruptedHits,
    /// Held while breakpoints are inserted or removed.
    #[pin]
    changes: Mutex<()>,
    /// Counts beginnings and ends of changes: odd while `changes` is held.
    sequence: AtomicU32,
}

impl Space {
    /// A space without storages. It takes a reference to `mm`.
    #[inline(always)]
    pub(crate) fn new(mm: &Mm) -> impl PinInit<Space> + '_ {
        pin_init!(Space {
            mm: MmRef::grab(mm),
            storages: Storages::NONE,
            interrupted: InterruptedHits::NONE,
            changes <- new_mutex!((), "ntrace breakpoints"),
            sequence: AtomicU32::new(0),
        })
    }

    /// Begins a change of breakpoints. It excludes other changes until the value is dropped.
    #[inline(never)]
    pub(crate) fn change(&self) -> Change<'_> {
        let change = Change { space: self, _locked: self.changes.lock() };
        change.count();
        change
    }

    /// The number of beginnings and ends of changes: odd during a change. Reads before the call see the breakpoints of that moment
    /// or older ones.
    pub(crate) fn sequence(&self) -> u32 {
        fence(Ordering::Acquire);
        self.sequence.load(Ordering::Relaxed)
    }

    /// The `struct mm_struct`.
    pub(crate) fn mm(&self) -> &Mm {
        &self.mm
    }

    /// Forgets the storages of an attachment, and waits until no hit uses them. The caller holds a [`Change`].
    pub(crate) fn forget(&self, attachment: u64) {
        self.storages.forget(attachment);
        wait_for_hits();
    }
}

/// A change of breakpoints. Until it is dropped, a hit that finds no breakpoint may find one later.
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

/// Waits until every hit that began before the call has returned to user mode or sleeps for a page.
pub(crate) fn wait_for_hits() {
    // SAFETY: all callers are allowed to sleep, and none is in a read-side section.
    unsafe { bindings::synchronize_rcu() };
}
