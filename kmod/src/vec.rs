// SPDX-License-Identifier: GPL-2.0

//! Lists: how long they are, and some whose order means nothing.

use core::ptr;

use kernel::alloc::{Allocator, KVec, Vec};

/// Lists of what is nothing but its bytes.
pub(crate) trait Keep {
    /// Forgets what is behind the first `count`.
    fn keep(&mut self, count: usize);
}

impl<T: Copy, A: Allocator> Keep for Vec<T, A> {
    fn keep(&mut self, count: usize) {
        if count < self.len() {
            // SAFETY: there are more.
            unsafe { set_length(self, count) };
        }
    }
}

/// What a list is made of, with another length: the kernel's own function is not public in newer kernels.
///
/// # Safety
/// There is room for `length`, and as many were written.
#[inline(always)]
pub(crate) unsafe fn set_length<T, A: Allocator>(list: &mut Vec<T, A>, length: usize) {
    // SAFETY: it is made of its own parts; what it was before is not dropped.
    unsafe {
        let (start, _, room) = ptr::read(list).into_raw_parts();
        ptr::write(list, Vec::from_raw_parts(start, length, room));
    }
}

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
        set_length(list, last);
        Some(start.add(last).read())
    }
}
