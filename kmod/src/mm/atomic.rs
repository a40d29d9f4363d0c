// SPDX-License-Identifier: GPL-2.0

//! Sections that do not sleep, and the page faults that they leave for later.

use kernel::bindings;
use kernel::ffi::c_void;

use crate::ffi;

/// How often a hit brings pages in before the processor raises the fault itself.
pub(crate) const MOST_FAULTS: u32 = 16;

/// While the value lives, no address space that is in the table of traced ones is freed: the thread is in a read-side section of RCU, or
/// holds the table's lock.
pub(crate) struct Section(());

impl Section {
    /// The section that the caller has begun.
    ///
    /// # Safety
    /// The thread is in a read-side section of RCU, or holds the lock, until the value is dropped.
    pub(crate) unsafe fn of_caller() -> Section {
        Section(())
    }
}

/// A read-side section of RCU with page faults disabled. It lasts while the value lives.
pub(crate) struct Atomic(Section);

impl Atomic {
    /// Begins a section.
    ///
    /// # Safety
    /// The thread does not sleep while the value lives.
    pub(crate) unsafe fn new() -> Atomic {
        // SAFETY: `drop` ends the section, and the caller does not sleep before.
        unsafe { ffi::ntrace_atomic_begin() };
        Atomic(Section(()))
    }

    /// The section of RCU.
    pub(crate) fn section(&self) -> &Section {
        &self.0
    }
}

impl Drop for Atomic {
    fn drop(&mut self) {
        // SAFETY: `new` began the section.
        unsafe { ffi::ntrace_atomic_end() };
    }
}

/// Brings in the page at `address` of the current process as an access of the program would. Returns whether the access succeeds now.
pub(crate) fn bring_in(address: u64, write: bool) -> bool {
    // SAFETY: both functions accept any address and check that it is a user's.
    unsafe {
        if write {
            ffi::fault_in_safe_writeable(address as *const c_void, 1) == 0
        } else {
            ffi::fault_in_readable(address as *const c_void, 1) == 0
        }
    }
}

/// Waits until every hit that began before the call has returned to user mode or sleeps for a page.
pub(crate) fn wait_for_hits() {
    // SAFETY: all callers are allowed to sleep, and none is in a read-side section.
    unsafe { bindings::synchronize_rcu() };
}
