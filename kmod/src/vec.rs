// SPDX-License-Identifier: GPL-2.0

//! What the kernel's vectors lack, or offer in newer kernels only.

use core::ptr;

use kernel::alloc::{Allocator, Flags, KVec, Vec};
use kernel::prelude::*;
use wire::{Failure, Status};

/// Shortens vectors whose elements need no drop.
pub(crate) trait Keep {
    /// Keeps the first `count` elements.
    fn keep(&mut self, count: usize);
}

impl<T: Copy, A: Allocator> Keep for Vec<T, A> {
    fn keep(&mut self, count: usize) {
        if count < self.len() {
            // SAFETY: `count` is smaller than the number of initialised elements, and `T: Copy` needs no drop.
            unsafe { set_length(self, count) };
        }
    }
}

/// Sets the length of a vector. The kernel's own `set_len` is private in newer kernels.
///
/// # Safety
/// The vector's capacity is at least `length`, and its first `length` elements are initialised.
#[inline(always)]
pub(crate) unsafe fn set_length<T, A: Allocator>(vec: &mut Vec<T, A>, length: usize) {
    // SAFETY: `read` copies the vector and `write` overwrites the original without a drop, so exactly one owner of the allocation
    // remains. The pointer and the capacity come from the vector itself; the caller vouches for `length`.
    unsafe {
        let (start, _, capacity) = ptr::read(vec).into_raw_parts();
        ptr::write(vec, Vec::from_raw_parts(start, length, capacity));
    }
}

/// Memory that the current process' control group pays for, without a sleep. A group that is at its limit gets it too.
pub(crate) fn unsleeping() -> Flags {
    GFP_ATOMIC | GFP_KERNEL_ACCOUNT & !GFP_KERNEL
}

/// Removes the first element that fits; the last element takes its index.
pub(crate) fn take<T>(vec: &mut KVec<T>, fits: impl FnMut(&T) -> bool) -> Option<T> {
    let index = vec.iter().position(fits)?;
    take_at(vec, index)
}

/// Removes the element at `index`; the last element takes its index.
pub(crate) fn take_at<T>(vec: &mut KVec<T>, index: usize) -> Option<T> {
    let last = vec.len().checked_sub(1).filter(|last| index <= *last)?;
    let start = vec.as_mut_ptr();
    // SAFETY: `index` and `last` are below the length. The shorter length takes the last element away from the vector before `read`
    // moves it out, so it has one owner at any time.
    unsafe {
        ptr::swap(start.add(index), start.add(last));
        set_length(vec, last);
        Some(start.add(last).read())
    }
}

/// Removes the element at `index`; those behind it move up.
pub(crate) fn remove_at<T>(vec: &mut KVec<T>, index: usize) -> Option<T> {
    let last = vec.len().checked_sub(1).filter(|last| index <= *last)?;
    let start = vec.as_mut_ptr();
    for at in index..last {
        // SAFETY: `at` and `at + 1` are below the length.
        unsafe { ptr::swap(start.add(at), start.add(at + 1)) };
    }
    take_at(vec, last)
}

/// Makes `numbers` consist of `length` zeroes.
pub(crate) fn zeroes<T: Copy + Default>(numbers: &mut KVVec<T>, length: usize) -> Result<(), Failure> {
    numbers.keep(0);
    numbers.reserve(length, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
    let room = numbers.spare_capacity_mut().get_mut(..length).ok_or(Status::NoMemory)?;
    room.iter_mut().for_each(|number| {
        number.write(T::default());
    });
    // SAFETY: the loop has initialised the first `length` numbers, which `reserve` made room for.
    unsafe { set_length(numbers, length) };
    Ok(())
}

/// The bytes of words.
pub(crate) fn bytes(words: &[u64]) -> &[u8] {
    let (start, length) = (words.as_ptr().cast::<u8>(), words.len() * 8);
    // SAFETY: each word consists of eight initialised bytes, and the result borrows the words.
    unsafe { core::slice::from_raw_parts(start, length) }
}
