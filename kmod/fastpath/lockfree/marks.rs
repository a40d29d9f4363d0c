// SPDX-License-Identifier: GPL-2.0

//! A set of marks, which are numbers other than 0. It has a bounded size: a further mark replaces another.

use crate::atomic::{AtomicU32, AtomicU64, Ordering};

/// Up to `N` marks.
pub struct Marks<const N: usize> {
    marks: [AtomicU64; N],
    /// At least the number of marks: it is raised before a mark is set, and lowered after one is taken.
    count: AtomicU32,
}

impl<const N: usize> Marks<N> {
    /// No marks.
    #[cfg(not(model))]
    pub const NONE: Marks<N> = Marks { marks: [const { AtomicU64::new(0) }; N], count: AtomicU32::new(0) };

    /// No marks.
    #[cfg(model)]
    pub fn new() -> Marks<N> {
        Marks { marks: core::array::from_fn(|_| AtomicU64::new(0)), count: AtomicU32::new(0) }
    }

    /// Whether there is no mark. A thread that has set one gets false until somebody has taken or replaced it.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Sets a mark. One that is there stays the only one.
    pub fn set(&self, mark: u64) {
        if self.replace(mark, mark) {
            return;
        }
        self.count.fetch_add(1, Ordering::AcqRel);
        if self.replace(0, mark) {
            return;
        }
        let other = self.marks.get(mark as usize % N).map_or(0, |entry| entry.swap(mark, Ordering::AcqRel));
        if other != 0 {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Removes a mark. Returns whether there was one: each is taken once.
    pub fn take(&self, mark: u64) -> bool {
        let taken = self.replace(mark, 0);
        if taken {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
        taken
    }

    /// Replaces one entry that equals `old`. Returns whether there was one.
    #[inline(never)]
    fn replace(&self, old: u64, new: u64) -> bool {
        self.marks.iter().any(|entry| {
            entry.load(Ordering::Relaxed) == old
                && entry.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }
}
