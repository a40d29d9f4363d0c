// SPDX-License-Identifier: GPL-2.0

//! A number of beginnings and ends of changes, by which a reader without a lock knows whether it read during a change.

use crate::atomic::fence;
use crate::atomic::{AtomicU32, Ordering};

/// The number: odd during a change.
pub struct Sequence(AtomicU32);

impl Sequence {
    /// No change so far.
    #[cfg(not(model))]
    pub const ZERO: Sequence = Sequence(AtomicU32::new(0));

    /// No change so far.
    #[cfg(model)]
    pub fn new() -> Sequence {
        Sequence(AtomicU32::new(0))
    }

    /// Counts the beginning or the end of a change. Whoever sees a write behind the call and then calls [`Sequence::get`] sees this count.
    pub fn count(&self) {
        fence(Ordering::SeqCst);
        self.0.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// The number. Reads before the call see what there was at that moment or before; reads behind it see that moment or later ones.
    pub fn get(&self) -> u32 {
        fence(Ordering::Acquire);
        let number = self.0.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        number
    }
}
