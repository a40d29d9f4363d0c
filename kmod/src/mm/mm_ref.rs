// SPDX-License-Identifier: GPL-2.0

//! Counted references to `struct mm_struct`.

use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::ffi::{self, Mm};

/// A reference to a `struct mm_struct` (mmgrab). The structure stays; the memory that it describes may go.
pub(crate) struct MmRef(NonNull<Mm>);

// SAFETY: the kernel counts references atomically, and any thread may give one back.
unsafe impl Send for MmRef {}
// SAFETY: a shared `MmRef` offers nothing but the structure's address.
unsafe impl Sync for MmRef {}

impl MmRef {
    /// Takes a reference.
    pub(crate) fn grab(mm: &Mm) -> MmRef {
        // SAFETY: `mm` is borrowed from somebody who has a reference, so the count is not 0.
        unsafe { ffi::ntrace_mm_grab(mm) };
        MmRef(NonNull::from(mm))
    }

    /// Turns the reference into the structure's address. The caller has to turn the address back by [`MmRef::from_raw`].
    pub(crate) fn into_raw(self) -> *mut Mm {
        ManuallyDrop::new(self).0.as_ptr()
    }

    /// The reference of an address; nothing for null.
    ///
    /// # Safety
    /// `mm` is null or comes from [`MmRef::into_raw`], and this is the only call for that reference.
    pub(crate) unsafe fn from_raw(mm: *mut Mm) -> Option<MmRef> {
        NonNull::new(mm).map(MmRef)
    }
}

impl Deref for MmRef {
    type Target = Mm;

    fn deref(&self) -> &Mm {
        // SAFETY: this reference keeps the structure.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for MmRef {
    fn drop(&mut self) {
        // SAFETY: `grab` took the reference that is given back here.
        unsafe { ffi::ntrace_mm_drop(self.0.as_ptr()) };
    }
}

/// A user of a memory (mmget): its mappings stay though its process ends.
pub(crate) struct MmUser(NonNull<Mm>);

// SAFETY: the kernel counts users atomically, and any thread that may sleep may be the last one.
unsafe impl Send for MmUser {}

impl MmUser {
    /// Becomes a user of a memory that still has one.
    pub(crate) fn get(mm: &Mm) -> Option<MmUser> {
        // SAFETY: `mm` is borrowed from somebody who has a reference to the structure.
        unsafe { ffi::ntrace_mm_get(mm) }.then(|| MmUser(NonNull::from(mm)))
    }
}

impl Drop for MmUser {
    fn drop(&mut self) {
        // SAFETY: `get` made this a user. Users also keep the structure.
        unsafe { ffi::ntrace_mm_put(self.0.as_ptr()) };
    }
}
