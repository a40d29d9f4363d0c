// SPDX-License-Identifier: GPL-2.0

//! The table of all traced address spaces. Readers take no lock.

use core::ptr;
use core::sync::atomic::{fence, AtomicPtr, Ordering};

use fastpath::lockfree::{Chain, Linked};
use kernel::prelude::*;

use crate::ffi::{self, Mm};
use crate::mm::atomic::{wait_for_hits, Atomic, Section};
use crate::mm::space::Space;
use crate::process::traced::Traced;
use crate::vec;

/// Chains by a hash of the address of `struct mm_struct`.
static CHAINS: [Chain<Traced>; 256] = [Chain::EMPTY; 256];

impl Linked for Traced {
    fn next(&self) -> &AtomicPtr<Traced> {
        &self.next
    }
}

fn chain(mm: *const Mm) -> &'static Chain<Traced> {
    // The structure is some hundred bytes long.
    let number = (mm as usize >> 6) ^ (mm as usize >> 14);
    let [first, ..] = &CHAINS;
    CHAINS.get(number % CHAINS.len()).unwrap_or(first)
}

/// The lock of the table, held while the value lives.
struct Locked(Section);

impl Locked {
    fn new() -> Locked {
        // SAFETY: no function that holds the lock calls this one.
        unsafe { ffi::ntrace_table_lock() };
        // SAFETY: the lock is held until the value is dropped.
        Locked(unsafe { Section::of_caller() })
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: `new` took the lock.
        unsafe { ffi::ntrace_table_unlock() };
    }
}

/// Whether the address space with this `struct mm_struct` may be a traced one. Where `find` would find it, it may.
pub(crate) fn may_be_traced(mm: *const Mm) -> bool {
    !chain(mm).is_empty()
}

/// The traced address space with this `struct mm_struct`, if it is one.
pub(crate) fn find(mm: *const Mm, _: &Section) -> Option<&Traced> {
    // SAFETY: `TracedRef::drop` frees an address space only after it has left its chain and a grace period has passed, so the section keeps
    // it.
    unsafe { chain(mm).find(|traced| ptr::eq(traced.space.mm(), mm)) }
}

/// Adds an address space that the table lacks.
fn enter(traced: Pin<KBox<Traced>>, _: &Locked) -> *mut Traced {
    let chain = chain(traced.space.mm());
    // SAFETY: the value stays where it is until `TracedRef::drop` frees it.
    let raw = KBox::into_raw(unsafe { Pin::into_inner_unchecked(traced) });
    // SAFETY: the value is there until then, which is after it has left the chain. The lock excludes other writers.
    unsafe { chain.enter(raw) };
    raw
}

/// A counted reference to a traced address space.
pub(crate) struct TracedRef(*mut Traced);

// SAFETY: a traced address space may be used from any thread, and its users are counted under the table's lock.
unsafe impl Send for TracedRef {}

impl TracedRef {
    /// A reference to the traced address space of `mm`, which enters the table if it is not there.
    pub(crate) fn of(mm: &Mm) -> Result<TracedRef> {
        let new = Traced::new(mm, false, GFP_KERNEL_ACCOUNT)?;
        let locked = Locked::new();
        // The lock is held until a user is counted.
        let found = match find(mm, &locked.0) {
            Some(traced) => {
                traced.users.fetch_add(1, Ordering::Relaxed);
                ptr::from_ref(traced).cast_mut()
            }
            None => return Ok(TracedRef(enter(new, &locked))),
        };
        drop(locked);
        Ok(TracedRef(found))
    }

    /// A reference to the traced address space of `mm`, unless it is a fork's copy that has not run.
    pub(crate) fn find(mm: *const Mm) -> Option<TracedRef> {
        // Of most processes there is nothing to find, and then no lock is taken. What has notified this thread was written after the address
        // space had entered.
        fence(Ordering::SeqCst);
        // SAFETY: nothing sleeps until `atomic` is dropped.
        let atomic = unsafe { Atomic::new() };
        find(mm, atomic.section())?;
        drop(atomic);
        let locked = Locked::new();
        // The lock is held until a user is counted.
        let traced = find(mm, &locked.0).filter(|traced| !traced.is_forked())?;
        traced.users.fetch_add(1, Ordering::Relaxed);
        Some(TracedRef(ptr::from_ref(traced).cast_mut()))
    }

    /// The reference that `fork` counted for a copy that has not run, if there is such a copy.
    pub(crate) fn take_copy() -> Option<TracedRef> {
        let _locked = Locked::new();
        // SAFETY: values leave a chain under the lock only, which is held here.
        let copy = CHAINS.iter().find_map(|chain| unsafe { chain.find(Traced::take_forked) })?;
        Some(TracedRef(ptr::from_ref(copy).cast_mut()))
    }

    /// The reference that `fork` counted for the copy.
    ///
    /// # Safety
    /// `Traced::take_forked` has returned true to the caller.
    pub(crate) unsafe fn of_forked(traced: &Traced) -> TracedRef {
        TracedRef(ptr::from_ref(traced).cast_mut())
    }

    /// The traced address space.
    pub(crate) fn traced(&self) -> &Traced {
        // SAFETY: this reference is counted as a user, and what has users is not freed.
        unsafe { &*self.0 }
    }

    /// Its breakpoints.
    pub(crate) fn space(&self) -> &Space {
        &self.traced().space
    }
}

impl AsRef<Space> for TracedRef {
    fn as_ref(&self) -> &Space {
        self.space()
    }
}

impl Drop for TracedRef {
    fn drop(&mut self) {
        let locked = Locked::new();
        // SAFETY: this reference is still counted as a user.
        let traced = unsafe { &*self.0 };
        if traced.users.fetch_sub(1, Ordering::Relaxed) > 1 {
            return;
        }
        // SAFETY: values leave a chain under the lock only, which is held here, and are freed after that.
        unsafe { chain(traced.space.mm()).leave(traced) };
        drop(locked);
        wait_for_hits();
        // SAFETY: `enter` made the pointer of a box. The address space has left the table, its last user was this one, and the grace
        // period above has ended all readers that found it before.
        drop(unsafe { KBox::from_raw(self.0) });
    }
}

/// Enters the copy that a fork makes of a traced address space, with its storages and the attachments of the parent. Returns whether
/// there is a copy, which has work to do before it runs. Fails if there is no memory and the copy has breakpoints.
///
/// # Safety
/// The caller is in a read-side section of RCU, and the copy has not run.
pub(crate) unsafe fn fork(parent: *const Mm, child: &Mm) -> Result<bool> {
    // SAFETY: the caller is in a read-side section of RCU until this function returns.
    let section = unsafe { Section::of_caller() };
    let Some(parent) = find(parent, &section) else { return Ok(false) };
    copy(parent, child).or_else(|error| {
        parent.attachments().iter().for_each(|attachment| attachment.channel().miss());
        let has_breakpoints = parent.space.storages.iter().next().is_some();
        if has_breakpoints {
            Err(error)
        } else {
            Ok(false)
        }
    })
}

fn copy(parent: &Traced, child: &Mm) -> Result<bool> {
    let (heirs, storages) = (parent.copy_attachments()?, &parent.space.storages);
    if heirs.is_empty() && storages.iter().next().is_none() {
        return Ok(false);
    }
    let copy = Traced::new(child, true, vec::unsleeping())?;
    copy.set_heirs(heirs);
    for storage in storages.iter() {
        copy.space.storages.add(&storage).map_err(|_| ENOSPC)?;
        copy.space.storages.set_retired(&storage, storages.retired(&storage));
    }
    enter(copy, &Locked::new());
    Ok(true)
}
