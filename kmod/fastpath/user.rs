// SPDX-License-Identifier: GPL-2.0

//! The memory of the process that runs here, without waiting for a page. Page faults are disabled.

use core::ffi::{c_int, c_long, c_ulong, c_void};
use core::ptr;

use stepping::Fault;
use ubp::core::{Inaccessible, Memory};

extern "C" {
    fn ntrace_user_get(to: *mut c_void, from: c_ulong, size: usize) -> bool;
    fn ntrace_user_count(at: c_ulong, value: *mut u64) -> c_int;
    fn copy_to_user_nofault(to: *mut c_void, from: *const c_void, size: usize) -> c_long;
}

/// Fills `bytes` from `address` on; says whether it could at once.
pub fn read(address: u64, bytes: &mut [u8]) -> bool {
    let to = bytes.as_mut_ptr().cast::<c_void>();
    // SAFETY: there is room for as many bytes; the address is the user's, which the callee looks after.
    unsafe { ntrace_user_get(to, address as _, bytes.len()) }
}

fn write(address: u64, bytes: &[u8]) -> bool {
    let from = bytes.as_ptr().cast::<c_void>();
    // SAFETY: so many bytes are there; the address is the user's, which the callee looks after.
    unsafe { copy_to_user_nofault(address as *mut c_void, from, bytes.len()) == 0 }
}

/// Adds one to the number at `address`, which other threads may do at the same time. Says whether it could at once.
pub(crate) fn add(address: u64) -> bool {
    // SAFETY: the address is the user's, which the callee looks after.
    unsafe { ntrace_user_count(address as _, ptr::null_mut()) == 0 }
}

/// The same; gives what the number becomes.
pub(crate) fn count(address: u64) -> Option<u64> {
    let mut value = 0;
    // SAFETY: the address is the user's, which the callee looks after.
    let counted = unsafe { ntrace_user_count(address as _, &mut value) };
    (counted == 0).then_some(value)
}

/// A part of it, by offsets.
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

/// The memory of an instruction that is emulated. Remembers whether the access that failed was to write.
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
