// SPDX-License-Identifier: GPL-2.0

//! ntrace: sessions of tracing by a file descriptor.

use fastpath::arch;

mod breakpoints;
mod channel;
mod device;
mod ffi;
mod hit;
mod mm;
mod process;
mod thread;
mod vec;

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
        ffi::result(unsafe { ffi::ntrace_memory_begin() })?;
        // SAFETY: the same.
        ffi::result(unsafe { ffi::ntrace_hooks_begin() }).inspect_err(|_| {
            // SAFETY: nothing uses it.
            unsafe { ffi::ntrace_memory_end() };
        })?;
        // SAFETY: the device is static, and is registered once.
        ffi::result(unsafe { ffi::misc_register(&raw mut ffi::ntrace_device) }).inspect_err(|_| {
            // SAFETY: no file was ever opened.
            unsafe {
                ffi::ntrace_hooks_end();
                ffi::ntrace_memory_end();
            }
        })?;
        Ok(Ntrace)
    }
}

impl Drop for Ntrace {
    fn drop(&mut self) {
        // SAFETY: it was registered by `init`; open files hold the module, so none is left.
        unsafe {
            ffi::misc_deregister(&raw mut ffi::ntrace_device);
            ffi::ntrace_hooks_end();
            ffi::ntrace_memory_end();
        }
    }
}
