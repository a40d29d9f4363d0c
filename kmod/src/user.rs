// SPDX-License-Identifier: GPL-2.0

//! The memory of the process that runs here, without waiting for a page but where it says so. Page faults are disabled otherwise.

use core::ptr;

use kernel::ffi::c_void;
use kernel::prelude::*;
use stepping::Fault;
use ubp::core::{Inaccessible, Memory};

use crate::c;

/// Fills `bytes` from `address` on; says whether it could at once.
pub(crate) fn read(address: u64, bytes: &mut [u8]) -> bool {
    let to = bytes.as_mut_ptr().cast::<c_void>();
    // SAFETY: there is room for as many bytes; the address is the user's, which the callee looks after.
    unsafe { c::ntrace_user_get(to, address as _, bytes.len()) }
}

/// Copies up to `most` bytes from `address` on, up to the first that cannot be read; pages are waited for.
pub(crate) fn copy(address: u64, most: usize, to: &mut KVVec<u8>) -> Result {
    if most > 0 {
        to.reserve(most, GFP_KERNEL)?;
        // SAFETY: there is room for so many bytes; the address is the user's, which the callee looks after.
        let left = unsafe { c::ntrace_user_copy(to.as_mut_ptr().cast(), address as _, most as _) };
        // SAFETY: as many were written.
        unsafe { to.set_len(most.saturating_sub(left as usize)) };
    }
    Ok(())
}

/// Fills `bytes` from `address` on; pages are waited for. Says whether all could be read.
pub(crate) fn fill(address: u64, bytes: &mut [u8]) -> bool {
    // SAFETY: there is room for so many bytes; the address is the user's, which the callee looks after.
    unsafe { c::ntrace_user_copy(bytes.as_mut_ptr().cast(), address as _, bytes.len() as _) == 0 }
}

fn write(address: u64, bytes: &[u8]) -> bool {
    let from = bytes.as_ptr().cast::<c_void>();
    // SAFETY: so many bytes are there; the address is the user's, which the callee looks after.
    unsafe { c::copy_to_user_nofault(address as *mut c_void, from, bytes.len()) == 0 }
}

/// Adds one to the number at `address`, which other threads may do at the same time. Says whether it could at once.
pub(crate) fn add(address: u64) -> bool {
    // SAFETY: the address is the user's, which the callee looks after.
    unsafe { c::ntrace_user_count(address as _, ptr::null_mut()) == 0 }
}

/// The same; gives what the number becomes.
pub(crate) fn count(address: u64) -> Option<u64> {
    let mut value = 0;
    // SAFETY: the address is the user's, which the callee looks after.
    let counted = unsafe { c::ntrace_user_count(address as _, &mut value) };
    (counted == 0).then_some(value)
}

/// A part of it, by offsets.
pub(crate) struct Part(pub(crate) u64);

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
