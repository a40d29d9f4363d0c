// SPDX-License-Identifier: GPL-2.0

//! Jobs in the background.

use core::ptr::NonNull;

use kernel::ffi::c_void;
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
        unsafe { ffi::ntrace_job_queue(self.into_raw(), function, data) };
    }

    /// The job as a pointer, which owns it.
    pub(crate) fn into_raw(self) -> *mut ffi::Job {
        core::mem::ManuallyDrop::new(self).0.as_ptr()
    }

    /// The job of a pointer.
    ///
    /// # Safety
    /// The pointer is null or of `into_raw`, and owns its job.
    pub(crate) unsafe fn from_raw(job: *mut ffi::Job) -> Option<Job> {
        NonNull::new(job).map(Job)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // SAFETY: `new` made the job, and a queued one is not dropped.
        unsafe { ffi::ntrace_job_free(self.0.as_ptr()) };
    }
}
