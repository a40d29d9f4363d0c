// SPDX-License-Identifier: GPL-2.0

//! An address space that sessions trace.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use kernel::new_spinlock;
use kernel::prelude::*;
use kernel::sync::lock::spinlock::SpinLockBackend;
use kernel::sync::lock::Guard;
use kernel::sync::{Arc, SpinLock};
use wire::{Failure, Status};

use crate::ffi::Mm;
use crate::mm::space::Space;
use crate::process::attachment::{Attachment, Cause};
use crate::vec;

/// Attachments to an address space at most. Each thread that ends looks at all, under a spinlock that every ending thread takes.
const MOST: usize = 64;

/// An address space that sessions trace, or the copy of one that a fork made.
#[pin_data]
pub(crate) struct Traced {
    #[pin]
    pub(crate) space: Space,
    /// The next one in its chain of the table.
    pub(crate) next: AtomicPtr<Traced>,
    /// Number of `TracedRef`s. It changes under the table's lock.
    pub(crate) users: AtomicU32,
    /// Whether it is the copy that a fork made, and has not run.
    forked: AtomicBool,
    #[pin]
    attachments: SpinLock<KVec<Arc<Attachment>>>,
    /// The attachments of the parent, for a copy that has not run.
    #[pin]
    heirs: SpinLock<KVec<Arc<Attachment>>>,
}

// SAFETY: `space` has a counted reference and locks that any thread may use, and all other fields are atomic or have a lock.
unsafe impl Send for Traced {}
// SAFETY: what is shared is read and written atomically or under a lock.
unsafe impl Sync for Traced {}

impl Traced {
    /// An address space without attachments, with one user.
    #[inline(never)]
    pub(crate) fn new(mm: &Mm, forked: bool, flags: kernel::alloc::Flags) -> Result<Pin<KBox<Traced>>> {
        KBox::pin_init(
            pin_init!(Traced {
                space <- Space::new(mm),
                next: AtomicPtr::new(ptr::null_mut()),
                users: AtomicU32::new(1),
                forked: AtomicBool::new(forked),
                attachments <- new_spinlock!(KVec::new(), "ntrace attachments"),
                heirs <- new_spinlock!(KVec::new(), "ntrace heirs"),
            }),
            flags,
        )
    }

    /// Whether it is the copy that a fork made, and has not run.
    pub(crate) fn is_forked(&self) -> bool {
        self.forked.load(Ordering::Relaxed)
    }

    /// As `is_forked`, and false from now on. Whoever gets true takes over the user that the fork counted.
    pub(crate) fn take_forked(&self) -> bool {
        self.forked.swap(false, Ordering::AcqRel)
    }

    /// Adds an attachment.
    pub(crate) fn attach(&self, attachment: &Arc<Attachment>) -> Result<(), Failure> {
        let mut attachments = self.attachments.lock();
        if attachments.len() >= MOST {
            return Err(Failure::new(Status::Limit, MOST as u64));
        }
        attachments.push(attachment.clone(), vec::unsleeping()).map_err(|_| Status::NoMemory.into())
    }

    /// Removes an attachment.
    pub(crate) fn detach(&self, id: u64) {
        drop(vec::take(&mut self.attachments.lock(), |attachment| attachment.id == id));
    }

    /// The attachment with a number.
    pub(crate) fn attachment(&self, id: u64) -> Option<Arc<Attachment>> {
        self.attachments.lock().iter().find(|attachment| attachment.id == id).cloned()
    }

    /// The attachment with the lowest number above `id`.
    pub(crate) fn attachment_behind(&self, id: u64) -> Option<Arc<Attachment>> {
        let attachments = self.attachments.lock();
        attachments.iter().filter(|attachment| attachment.id > id).min_by_key(|attachment| attachment.id).cloned()
    }

    /// Takes a request to the current thread, which is at `pc`.
    pub(crate) fn take_request(&self, pc: u64) -> Option<(Arc<Attachment>, Cause)> {
        self.attachments().iter().find_map(|attachment| Some((attachment.clone(), attachment.take_request(pc)?)))
    }

    /// All attachments, locked.
    #[inline(never)]
    pub(crate) fn attachments(&self) -> Guard<'_, KVec<Arc<Attachment>>, SpinLockBackend> {
        self.attachments.lock()
    }

    /// A copy of the list of attachments, for the child of a fork. Does not sleep.
    pub(crate) fn copy_attachments(&self) -> Result<KVec<Arc<Attachment>>> {
        let attachments = self.attachments();
        let mut heirs = KVec::new();
        heirs.reserve(attachments.len(), vec::unsleeping())?;
        for attachment in attachments.iter() {
            heirs.push(attachment.clone(), vec::unsleeping())?;
        }
        Ok(heirs)
    }

    /// Sets the attachments of the parent.
    pub(crate) fn set_heirs(&self, heirs: KVec<Arc<Attachment>>) {
        *self.heirs.lock() = heirs;
    }

    /// Removes and returns the attachments of the parent.
    pub(crate) fn take_heirs(&self) -> KVec<Arc<Attachment>> {
        core::mem::take(&mut *self.heirs.lock())
    }

    /// Gives storages that a fork copied to attachment 0 if no attachment here owns them.
    pub(crate) fn disown(&self) {
        let Ok(_change) = self.space.change() else { return };
        let storages = &self.space.storages;
        for storage in storages.iter().filter(|storage| self.attachment(storage.owner).is_none()) {
            storages.give(&storage, 0);
        }
    }
}
