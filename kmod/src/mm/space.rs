// SPDX-License-Identifier: GPL-2.0

//! The breakpoints of an address space: where their storages lie, and who changes them.

use fastpath::lockfree::Sequence;
use fastpath::Storages;
use kernel::bindings;
use kernel::prelude::*;
use kernel::types::Opaque;
use wire::{Failure, Status};

use crate::ffi::{self, Mm};
use crate::mm::atomic::wait_for_hits;
use crate::mm::handed::Handed;
use crate::mm::interrupted_hits::InterruptedHits;
use crate::mm::mm_ref::MmRef;

/// An address space that may have breakpoints. Hits read it without a lock.
#[pin_data]
pub(crate) struct Space {
    mm: MmRef,
    pub(crate) storages: Storages,
    pub(crate) interrupted: InterruptedHits,
    pub(crate) handed: Handed,
    /// Held while breakpoints are inserted or removed.
    #[pin]
    changes: Opaque<bindings::mutex>,
    /// Counts beginnings and ends of changes: odd while `changes` is held.
    sequence: Sequence,
}

impl Space {
    /// A space without storages. It takes a reference to `mm`.
    #[inline(always)]
    pub(crate) fn new(mm: &Mm) -> impl PinInit<Space> + '_ {
        pin_init!(Space {
            mm: MmRef::grab(mm),
            storages: Storages::NONE,
            interrupted: InterruptedHits::NONE,
            handed: Handed::NONE,
            // SAFETY: `slot` is valid for writes and pinned.
            changes <- Opaque::ffi_init(|slot| unsafe { ffi::ntrace_lock_init(slot) }),
            sequence: Sequence::ZERO,
        })
    }

    /// Begins a change of breakpoints. It excludes other changes until the value is dropped. Fails if the thread is killed while it waits for
    /// another change, which takes long where the memory does not answer.
    #[inline(never)]
    pub(crate) fn change(&self) -> Result<Change<'_>, Failure> {
        // SAFETY: `new` initialised the lock. No caller holds it.
        if unsafe { ffi::ntrace_lock(self.changes.get()) } {
            self.count();
            Ok(Change(self))
        } else {
            Err(Status::NoProcess.into())
        }
    }

    #[inline(never)]
    fn count(&self) {
        self.sequence.count();
    }

    /// The number of beginnings and ends of changes: odd during a change. Reads before the call see the breakpoints of that moment
    /// or older ones, and reads behind it those of that moment or newer ones.
    pub(crate) fn sequence(&self) -> u32 {
        self.sequence.get()
    }

    /// The `struct mm_struct`.
    pub(crate) fn mm(&self) -> &Mm {
        &self.mm
    }

    /// Closes the storages of an attachment, and waits until no hit uses them. Threads in slots still find them. The caller holds a
    /// [`Change`].
    pub(crate) fn close(&self, attachment: u64) {
        self.storages.close(attachment);
        wait_for_hits();
    }

    /// Forgets the storages of an attachment, and waits until nobody uses them. The caller holds a [`Change`].
    pub(crate) fn forget(&self, attachment: u64) {
        self.storages.forget(attachment);
        wait_for_hits();
    }
}

/// A change of breakpoints. Until it is dropped, a hit that finds no breakpoint may find one later.
pub(crate) struct Change<'a>(&'a Space);

impl Drop for Change<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        self.0.count();
        // SAFETY: `Space::change` took the lock for this value.
        unsafe { ffi::ntrace_unlock(self.0.changes.get()) };
    }
}
