// SPDX-License-Identifier: GPL-2.0

//! A list of values that readers walk without a lock.

use core::ptr;

use crate::atomic::{AtomicPtr, Ordering};

/// A value that can be in a [`Chain`].
pub trait Linked: Sized {
    /// Where the chain has its pointer to the value behind this one.
    fn next(&self) -> &AtomicPtr<Self>;
}

/// The list. Writers hold a lock that excludes others. A value that has left the chain still leads to those behind it, for readers that found
/// it before.
pub struct Chain<T>(AtomicPtr<T>);

impl<T: Linked> Chain<T> {
    /// An empty chain.
    #[cfg(not(model))]
    pub const EMPTY: Chain<T> = Chain(AtomicPtr::new(ptr::null_mut()));

    /// An empty chain.
    #[cfg(model)]
    pub fn new() -> Chain<T> {
        Chain(AtomicPtr::new(ptr::null_mut()))
    }

    /// Whether no value is in the chain.
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// The first value that `fits`.
    ///
    /// # Safety
    /// No value that is in the chain at the call, or enters it later, is freed before the last use of the result.
    pub unsafe fn find<'a>(&self, fits: impl Fn(&T) -> bool) -> Option<&'a T> {
        let mut next = self.0.load(Ordering::Acquire);
        loop {
            // SAFETY: the caller vouches for the values of the chain. Acquire pairs with the release of `enter`, so the value is initialised.
            let value = unsafe { next.as_ref() }?;
            if fits(value) {
                return Some(value);
            }
            next = value.next().load(Ordering::Acquire);
        }
    }

    /// Adds a value that is in no chain. The caller excludes other writers.
    ///
    /// # Safety
    /// `value` points to a value that is not freed before it has left the chain.
    pub unsafe fn enter(&self, value: *mut T) {
        // SAFETY: the caller vouches for the value.
        let next = unsafe { (*value).next() };
        next.store(self.0.load(Ordering::Relaxed), Ordering::Relaxed);
        self.0.store(value, Ordering::Release);
    }

    /// Removes a value. The caller excludes other writers.
    ///
    /// # Safety
    /// All values of the chain are there.
    pub unsafe fn leave(&self, value: &T) {
        let mut link = &self.0;
        loop {
            let next = link.load(Ordering::Relaxed);
            if ptr::eq(next, value) {
                // Release: a reader that finds the value behind this one here finds it initialised.
                link.store(value.next().load(Ordering::Relaxed), Ordering::Release);
                return;
            }
            // SAFETY: the caller vouches for the values, and the lock that excludes other writers orders their initialisation.
            match unsafe { next.as_ref() } {
                Some(other) => link = other.next(),
                None => return,
            }
        }
    }
}
