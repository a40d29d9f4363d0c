// SPDX-License-Identifier: GPL-2.0

//! The memory of the current process while page faults are disabled: an access to a page that is not in fails.

use core::ffi::{c_int, c_long, c_ulong, c_void};
use core::ptr;

use stepping::Fault;
use ubp::core::{Inaccessible, Memory};

extern "C" {
    fn ntrace_user_get(to: *mut c_void, from: c_ulong, size: usize) -> bool;
    fn ntrace_user_count(at: c_ulong, value: *mut u64) -> c_int;
    fn copy_to_user_nofault(to: *mut c_void, from: *const c_void, size: usize) -> c_long;
}

/// Fills `bytes` from `address` on. Returns whether all pages were in.
pub fn read(address: u64, bytes: &mut [u8]) -> bool {
    let to = bytes.as_mut_ptr().cast::<c_void>();
    // SAFETY: `bytes` has that many bytes; the function checks the user's address.
    unsafe { ntrace_user_get(to, address as _, bytes.len()) }
}

fn write(address: u64, bytes: &[u8]) -> bool {
    let from = bytes.as_ptr().cast::<c_void>();
    // SAFETY: `bytes` has that many bytes; the function checks the user's address.
    unsafe { copy_to_user_nofault(address as *mut c_void, from, bytes.len()) == 0 }
}

/// Atomically adds one to the number at `address`. Returns whether the page was in.
pub fn add(address: u64) -> bool {
    // SAFETY: the function checks the user's address, and accepts a null pointer or a pointer to a word for the result.
    unsafe { ntrace_user_count(address as _, ptr::null_mut()) == 0 }
}

/// Atomically adds one to the number at `address`. Returns the new number if the page was in.
pub(crate) fn count(address: u64) -> Option<u64> {
    let mut value = 0;
    // SAFETY: the function checks the user's address, and accepts a null pointer or a pointer to a word for the result.
    let counted = unsafe { ntrace_user_count(address as _, &mut value) };
    (counted == 0).then_some(value)
}

/// The memory from an address on, by offsets.
pub struct Part(pub u64);

impl Memory for Part {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        if read(self.0.wrapping_add(offset), buffer) {
            Ok(())
        } else {
            Err(Inaccessible { offset })
        }
    }

    fn write(&mut self, offset: u64, _: &[u8]) -> Result<(), Inaccessible> {
        Err(Inaccessible { offset })
    }
}

/// The memory of an emulated instruction. Remembers whether the access that failed was a write.
#[derive(Default)]
pub(crate) struct Accesses {
    pub(crate) wrote: bool,
}

impl stepping::Memory for Accesses {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        if read(address, buffer) {
            Ok(())
        } else {
            Err(Fault::Page(address))
        }
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.wrote = true;
        if write(address, bytes) {
            Ok(())
        } else {
            Err(Fault::Page(address))
        }
    }
}
