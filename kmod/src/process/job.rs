// SPDX-License-Identifier: GPL-2.0

//! Jobs in the background.

use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use kernel::ffi::c_void;
use kernel::prelude::*;
use wire::{Failure, Status};

use crate::ffi;

/// A job of remote.c that is not queued. It is made beforehand, because what queues it must not fail.
pub(crate) struct Job(NonNull<ffi::Job>);

// SAFETY: the job is memory that any thread may queue or free.
unsafe impl Send for Job {}

impl Job {
    pub(crate) fn new() -> Result<Job, Failure> {
        // SAFETY: the function allocates memory, which the result owns.
        NonNull::new(unsafe { ffi::ntrace_job_new() }).map(Job).ok_or(Status::NoMemory.into())
    }

    /// Has `function` called with `data` by a thread of the kernel. Does not sleep.
    ///
    /// # Safety
    /// `function` may be called with `data` by any thread, at any later time.
    pub(crate) unsafe fn queue(self, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void) {
        // SAFETY: `new` made the job, which remote.c owns from here on. The caller vouches for the rest.
        unsafe { ffi::ntrace_job_queue(ManuallyDrop::new(self).0.as_ptr(), function, data) };
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // SAFETY: `new` made the job, and a queued one is not dropped.
        unsafe { ffi::ntrace_job_free(self.0.as_ptr()) };
    }
}

/// A job for the end of a process, if there is one. It is queued once.
pub(crate) struct AtEnd(AtomicPtr<Prepared>);

struct Prepared {
    job: Job,
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

impl AtEnd {
    pub(crate) const NOTHING: AtEnd = AtEnd(AtomicPtr::new(ptr::null_mut()));

    /// Prepares the job. It must be queued or withdrawn before the value is dropped.
    ///
    /// # Safety
    /// `function` may be called with `data` by any thread, at any later time. There is no other job.
    pub(crate) unsafe fn prepare(
        &self,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Result<(), Failure> {
        let prepared = KBox::new(Prepared { job: Job::new()?, function, data }, GFP_KERNEL_ACCOUNT);
        self.0.store(KBox::into_raw(prepared.map_err(|_| Status::NoMemory)?), Ordering::Release);
        Ok(())
    }

    fn take(&self) -> Option<KBox<Prepared>> {
        let prepared = self.0.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: the pointer is null or of `prepare`, and the swap gives it to one caller.
        (!prepared.is_null()).then(|| unsafe { KBox::from_raw(prepared) })
    }

    /// Queues the job. Does not sleep.
    pub(crate) fn queue(&self) {
        if let Some(prepared) = self.take() {
            let Prepared { job, function, data } = KBox::into_inner(prepared);
            // SAFETY: the caller of `prepare` has vouched for both.
            unsafe { job.queue(function, data) };
        }
    }

    /// Removes the job unless it was queued. Returns its data.
    pub(crate) fn withdraw(&self) -> Option<*mut c_void> {
        self.take().map(|prepared| prepared.data)
    }
}
