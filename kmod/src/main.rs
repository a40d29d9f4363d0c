// SPDX-License-Identifier: GPL-2.0

//! ntrace: sessions of tracing by a file descriptor.

use passage::arch;

mod act;
mod again;
mod batch;
mod breakpoints;
mod c;
mod cache;
mod channel;
mod debuggee;
mod file;
mod held;
mod hit;
mod leave;
mod list;
mod lives;
mod patch;
mod place;
mod probed;
mod queue;
mod ring;
mod server;
mod session;
mod space;
mod spaces;
mod step;
mod user;
mod waiters;
mod watch;

use kernel::prelude::*;

module! {
    type: Ntrace,
    name: "ntrace",
    description: "Tracing sessions and user breakpoints",
    license: "GPL v2",
}

struct Ntrace;

impl kernel::Module for Ntrace {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        // SAFETY: done once, before there is a file.
        c::result(unsafe { c::ntrace_memory_begin() })?;
        // SAFETY: the same.
        c::result(unsafe { c::ntrace_hooks_begin() }).inspect_err(|_| {
            // SAFETY: nothing uses it.
            unsafe { c::ntrace_memory_end() };
        })?;
        // SAFETY: the device is static, and is registered once.
        c::result(unsafe { c::misc_register(&raw mut c::ntrace_device) }).inspect_err(|_| {
            // SAFETY: no file was ever opened.
            unsafe {
                c::ntrace_hooks_end();
                c::ntrace_memory_end();
            }
        })?;
        Ok(Ntrace)
    }
}

impl Drop for Ntrace {
    fn drop(&mut self) {
        // SAFETY: it was registered by `init`; open files hold the module, so none is left.
        unsafe {
            c::misc_deregister(&raw mut c::ntrace_device);
            c::ntrace_hooks_end();
            c::ntrace_memory_end();
        }
    }
}
