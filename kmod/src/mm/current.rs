// SPDX-License-Identifier: GPL-2.0

//! The memory of the current process, where the thread may sleep until a page is in.

use kernel::ffi::c_void;
use kernel::prelude::*;

use crate::ffi;
use crate::vec::set_length;

/// The rest of a buffer that the user gave to read(2) or write(2).
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

    /// Drops the next `count` bytes.
    pub(crate) fn skip(&mut self, count: usize) {
        let count = count.min(self.left);
        self.address = self.address.wrapping_add(count as u64);
        self.left -= count;
    }

    /// Appends the next `size` bytes to `to`, or nothing if one of them cannot be read.
    pub(crate) fn read(&self, size: usize, to: &mut KVVec<u8>) -> Result {
        let before = to.len();
        to.reserve(size, GFP_KERNEL_ACCOUNT)?;
        let room = to.spare_capacity_mut().get_mut(..size.min(self.left)).ok_or(ENOMEM)?;
        // SAFETY: `room` has `room.len()` bytes; the function checks the user's address.
        if unsafe { ffi::ntrace_user_copy(room.as_mut_ptr().cast(), self.address as _, room.len() as _) } != 0 {
            return Err(EFAULT);
        }
        let length = before + room.len();
        // SAFETY: the first `before` bytes were initialised before, and the copy filled all of `room` behind them.
        unsafe { set_length(to, length) };
        Ok(())
    }

    /// Writes `bytes` to the buffer and skips them. Fails if one of them cannot be written or the buffer is too short.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result {
        if bytes.len() > self.left {
            return Err(EFAULT);
        }
        // SAFETY: `bytes` has that many bytes; the function checks the user's address.
        if unsafe { ffi::ntrace_user_write(self.address as _, bytes.as_ptr().cast(), bytes.len() as _) } != 0 {
            return Err(EFAULT);
        }
        self.skip(bytes.len());
        Ok(())
    }
}

/// Replaces `to` by up to `most` bytes from `address` on, up to the first that cannot be read.
pub(crate) fn copy(address: u64, most: usize, to: &mut KVVec<u8>) -> Result {
    if most > 0 {
        to.reserve(most, GFP_KERNEL_ACCOUNT)?;
        // SAFETY: `to` has room for `most` bytes; the function checks the user's address.
        let left = unsafe { ffi::ntrace_user_copy(to.as_mut_ptr().cast(), address as _, most as _) };
        // SAFETY: the function copied all but the last `left` bytes.
        unsafe { set_length(to, most.saturating_sub(left as usize)) };
    }
    Ok(())
}

/// Fills `bytes` from `address` on. Returns whether all bytes could be read.
pub(crate) fn fill(address: u64, bytes: &mut [u8]) -> bool {
    // SAFETY: `bytes` has that many bytes; the function checks the user's address.
    unsafe { ffi::ntrace_user_copy(bytes.as_mut_ptr().cast(), address as _, bytes.len() as _) == 0 }
}
