// SPDX-License-Identifier: GPL-2.0

//! The process that opened a channel: its credentials, and its names for processes.

use core::ptr;

use crate::ffi::{self, Cred, File, Namespace, Task};

/// The opener of a channel. A channel has its opener's permissions, whoever writes commands to it.
pub(crate) struct Opener {
    cred: *const Cred,
    namespace: *mut Namespace,
}

// SAFETY: both pointers are counted references, and any thread may use them and give them back.
unsafe impl Send for Opener {}
// SAFETY: nothing is written through the pointers; the kernel counts references to both structures atomically.
unsafe impl Sync for Opener {}

impl Opener {
    /// The opener of `file`, which is the current process.
    ///
    /// # Safety
    /// The file is open.
    pub(crate) unsafe fn of(file: *const File) -> Opener {
        // SAFETY: the caller vouches for the file. Both functions take references, which `drop` gives back.
        Opener { cred: unsafe { ffi::ntrace_file_cred(file) }, namespace: unsafe { ffi::ntrace_namespace_get() } }
    }

    /// The PID namespace in which the opener knows processes and threads by number.
    pub(crate) fn namespace(&self) -> *mut Namespace {
        self.namespace
    }

    /// Opens /proc/PID/mem with the opener's credentials, which asks whether the opener may trace the process. Returns an error pointer
    /// where it may not.
    pub(crate) fn open_memory(&self, process: i32) -> *mut File {
        // SAFETY: the opener has references to its credentials and its namespace.
        unsafe { ffi::ntrace_memory_open(self.cred, self.namespace, process) }
    }

    /// The number of the current thread.
    #[inline(never)]
    pub(crate) fn this_thread(&self) -> u64 {
        // SAFETY: a null pointer stands for the current thread, and the opener has a reference to its namespace.
        unsafe { ffi::ntrace_thread_number(ptr::null_mut(), self.namespace) as u64 }
    }

    /// The number of a thread.
    ///
    /// # Safety
    /// The thread's structure exists during the call.
    pub(crate) unsafe fn number_of(&self, thread: *mut Task) -> u64 {
        // SAFETY: the caller vouches for the thread, and the opener has a reference to its namespace.
        unsafe { ffi::ntrace_thread_number(thread, self.namespace) as u64 }
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        // SAFETY: `of` took both references.
        unsafe {
            ffi::ntrace_cred_put(self.cred);
            ffi::put_pid_ns(self.namespace);
        }
    }
}
