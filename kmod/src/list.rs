// SPDX-License-Identifier: GPL-2.0

//! Lists whose order means nothing.

use core::ptr;

use kernel::alloc::KVec;

/// Takes the first element out that fits.
pub(crate) fn take<T>(list: &mut KVec<T>, fits: impl FnMut(&T) -> bool) -> Option<T> {
    let place = list.iter().position(fits)?;
    take_at(list, place)
}

/// Takes the element out at a place.
pub(crate) fn take_at<T>(list: &mut KVec<T>, place: usize) -> Option<T> {
    let last = list.len().checked_sub(1).filter(|last| place <= *last)?;
    let start = list.as_mut_ptr();
    // SAFETY: both are places of the list; the last element is the list's no more before it is read.
    unsafe {
        ptr::swap(start.add(place), start.add(last));
        list.set_len(last);
        Some(start.add(last).read())
    }
}
