// SPDX-License-Identifier: GPL-2.0

//! The process that opened a channel: its credentials, and its names for processes.

use core::ptr;

use crate::ffi::{self, Account, Cred, File, Namespace, Task};

/// The opener of a channel. A channel has its opener's permissions, whoever writes commands to it.
pub(crate) struct Opener {
    cred: *const Cred,
    namespace: *mut Namespace,
    account: *mut Account,
}

// SAFETY: the pointers are counted references, and any thread may use them and give them back.
unsafe impl Send for Opener {}
// SAFETY: nothing is written through the pointers; the kernel counts references to all structures atomically.
unsafe impl Sync for Opener {}

impl Opener {
    /// The opener of `file`, which is the current process.
    ///
    /// # Safety
    /// The file is open.
    pub(crate) unsafe fn of(file: *const File) -> Opener {
        // SAFETY: the caller vouches for the file. The functions take references, which `drop` gives back.
        unsafe {
            Opener {
                cred: ffi::ntrace_file_cred(file),
                namespace: ffi::ntrace_namespace_get(),
                account: ffi::ntrace_account_get(),
            }
        }
    }

    /// Has the opener's control group pay for the memory that the current thread allocates as long as the value lives.
    pub(crate) fn pay(&self) -> Paying<'_> {
        // SAFETY: the opener has a reference to its group, and `Paying` borrows the opener.
        Paying { before: unsafe { ffi::ntrace_account_use(self.account) }, _opener: self }
    }

    /// The opener's credentials.
    pub(crate) fn credentials(&self) -> *const Cred {
        self.cred
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
        // SAFETY: `of` took the references.
        unsafe {
            ffi::ntrace_account_put(self.account);
            ffi::ntrace_cred_put(self.cred);
            ffi::put_pid_ns(self.namespace);
        }
    }
}

/// The opener's control group pays for memory while the value lives.
pub(crate) struct Paying<'a> {
    before: *mut Account,
    _opener: &'a Opener,
}

impl Drop for Paying<'_> {
    fn drop(&mut self) {
        // SAFETY: the group is the one that `pay` replaced.
        unsafe { ffi::ntrace_account_use(self.before) };
    }
}
