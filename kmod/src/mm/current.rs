// SPDX-License-Identifier: GPL-2.0

//! The memory of the process that runs here, where its pages may be waited for.

use kernel::ffi::c_void;
use kernel::prelude::*;

use crate::ffi;
use crate::vec::set_length;

/// A buffer that a reader or a writer of the device gave, and what of it is left.
pub(crate) struct Buffer {
    address: u64,
    left: usize,
}

impl Buffer {
    pub(crate) fn new(start: *mut c_void, size: usize) -> Buffer {
        Buffer { address: start as u64, left: size }
    }

    /// Number of bytes that are left.
    pub(crate) fn len(&self) -> usize {
        self.left
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Leaves out the next `count` bytes.
    pub(crate) fn skip(&mut self, count: usize) {
        let count = count.min(self.left);
        self.address = self.address.wrapping_add(count as u64);
        self.left -= count;
    }

    /// Adds the next `size` bytes to a list, or none where one of them cannot be read.
    pub(crate) fn read(&self, size: usize, to: &mut KVVec<u8>) -> Result {
        let before = to.len();
        to.reserve(size, GFP_KERNEL_ACCOUNT)?;
        let room = to.spare_capacity_mut().get_mut(..size.min(self.left)).ok_or(ENOMEM)?;
        // SAFETY: the room has that many bytes; the callee checks the user's address.
        if unsafe { ffi::ntrace_user_copy(room.as_mut_ptr().cast(), self.address as _, room.len() as _) } != 0 {
            return Err(EFAULT);
        }
        let length = before + room.len();
        // SAFETY: all of the room behind the first `before` bytes was written.
        unsafe { set_length(to, length) };
        Ok(())
    }

    /// Writes bytes and leaves them behind, or fails where one of them cannot be written or there is no room.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result {
        if bytes.len() > self.left {
            return Err(EFAULT);
        }
        // SAFETY: the slice has that many bytes; the callee checks the user's address.
        if unsafe { ffi::ntrace_user_write(self.address as _, bytes.as_ptr().cast(), bytes.len() as _) } != 0 {
            return Err(EFAULT);
        }
        self.skip(bytes.len());
        Ok(())
    }
}

/// Copies up to `most` bytes from `address` on, up to the first that cannot be read; pages are waited for.
pub(crate) fn copy(address: u64, most: usize, to: &mut KVVec<u8>) -> Result {
    if most > 0 {
        to.reserve(most, GFP_KERNEL_ACCOUNT)?;
        // SAFETY: there is room for so many bytes; the address is the user's, which the callee looks after.
        let left = unsafe { ffi::ntrace_user_copy(to.as_mut_ptr().cast(), address as _, most as _) };
        // SAFETY: as many were written.
        unsafe { set_length(to, most.saturating_sub(left as usize)) };
    }
    Ok(())
}

/// Fills `bytes` from `address` on; pages are waited for. Says whether all could be read.
pub(crate) fn fill(address: u64, bytes: &mut [u8]) -> bool {
    // SAFETY: there is room for so many bytes; the address is the user's, which the callee looks after.
    unsafe { ffi::ntrace_user_copy(bytes.as_mut_ptr().cast(), address as _, bytes.len() as _) == 0 }
}
