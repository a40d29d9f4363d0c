// SPDX-License-Identifier: GPL-2.0

//! ntrace.ko: tracing sessions, each an open file of /dev/ntrace.
//!
//! # Lock order
//!
//! A thread that holds a lock takes only locks that come later in this list. Locks of one line are never held together.
//!
//! 1. `Session::commands`, `Session::piece`
//! 2. `Kept::lock`, and under it `Space::changes`. A thread waits for both until it is killed
//! 3. `Watches::all`, `Registry::adopted`, `Registry::held`, `Held::registers`, `Channel::messages`, `Rules::all`, `Rule::seen`,
//!    `Aggregate::sums`
//! 4. `mmap_lock` of a debuggee
//! 5. The table of traced address spaces (`ntrace_table_lock`), the lists of lifecycle.c and of follow.c, `Traced::attachments`, `Traced::heirs`
//! 6. `Attachment::requests`, `Channel::notes`, the queues of uprobes.c, the visits of threads.c
//! 7. `task_lock`, and under it the lock of the process' signals
//! 8. The wait queue of a `WaitCount`
//!
//! The locks of 1 to 4 sleep, those of 5 to 8 spin. uprobes take `mmap_lock` before they call uprobes.c. `ntrace_hit` takes none of these
//! locks, and neither does `ntrace_registers_seen`, which runs under the lock of the process' signals. The workers of uprobes.c and the jobs
//! that remove breakpoints take `Space::changes`, so no thread waits for them while it holds another lock of this list than those of line 1.
//! While a thread waits for a user to read, make room, write or resume, it holds none of them; only while a page of the user's own buffer is brought in,
//! it holds its lock of line 1.

mod breakpoints;
mod channel;
mod device;
mod ffi;
mod follow;
mod hit;
mod mm;
mod process;
mod report;
mod rules;
mod thread;
mod vec;

use kernel::prelude::*;

use crate::process::lifecycle;

module! {
    type: Ntrace,
    name: "ntrace",
    description: "Tracing sessions and user breakpoints",
    license: "GPL v2",
}

struct Ntrace;

impl kernel::Module for Ntrace {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        // SAFETY: called once when the module is loaded, before there is a device.
        ffi::result(unsafe { ffi::ntrace_proc_mount() })?;
        // SAFETY: called once when the module is loaded.
        ffi::result(unsafe { ffi::ntrace_jobs_init() }).inspect_err(|_| {
            // SAFETY: the mount succeeded, and without a device nobody uses it.
            unsafe { ffi::ntrace_proc_unmount() };
        })?;
        // SAFETY: called once when the module is loaded, after the mount and the queue that sessions need.
        ffi::result(unsafe { ffi::ntrace_hooks_init() }).inspect_err(|_| {
            // SAFETY: both were set up above, and without a device nobody uses them.
            unsafe {
                ffi::ntrace_jobs_exit();
                ffi::ntrace_proc_unmount();
            }
        })?;
        // SAFETY: the device is static and registered once.
        ffi::result(unsafe { ffi::ntrace_device_add() }).inspect_err(|_| {
            // SAFETY: all were set up above. Without a device no session has used them.
            unsafe {
                ffi::ntrace_hooks_exit();
                ffi::ntrace_jobs_exit();
                ffi::ntrace_proc_unmount();
            }
        })?;
        Ok(Ntrace)
    }
}

impl Drop for Ntrace {
    fn drop(&mut self) {
        // SAFETY: `init` set both up. Each open file holds the module, so there is no session. What sessions have left to do in the
        // background needs the hooks.
        unsafe {
            ffi::ntrace_device_remove();
            ffi::ntrace_jobs_exit();
        }
        lifecycle::end_copies();
        // SAFETY: `init` set both up, and no process has breakpoints any more.
        unsafe {
            ffi::ntrace_hooks_exit();
            ffi::ntrace_proc_unmount();
        }
    }
}
