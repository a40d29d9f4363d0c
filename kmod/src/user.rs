// SPDX-License-Identifier: GPL-2.0

//! The memory of the process that runs here, where its pages may be waited for.

use kernel::prelude::*;

use crate::c;
use crate::list::set_length;

/// Copies up to `most` bytes from `address` on, up to the first that cannot be read; pages are waited for.
pub(crate) fn copy(address: u64, most: usize, to: &mut KVVec<u8>) -> Result {
    if most > 0 {
        to.reserve(most, GFP_KERNEL_ACCOUNT)?;
        // SAFETY: there is room for so many bytes; the address is the user's, which the callee looks after.
        let left = unsafe { c::ntrace_user_copy(to.as_mut_ptr().cast(), address as _, most as _) };
        // SAFETY: as many were written.
        unsafe { set_length(to, most.saturating_sub(left as usize)) };
    }
    Ok(())
}

/// Fills `bytes` from `address` on; pages are waited for. Says whether all could be read.
pub(crate) fn fill(address: u64, bytes: &mut [u8]) -> bool {
    // SAFETY: there is room for so many bytes; the address is the user's, which the callee looks after.
    unsafe { c::ntrace_user_copy(bytes.as_mut_ptr().cast(), address as _, bytes.len() as _) == 0 }
}
