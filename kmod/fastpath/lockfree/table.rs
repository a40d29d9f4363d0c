// SPDX-License-Identifier: GPL-2.0

//! A table of records that readers find without a lock.

use core::slice;

use crate::atomic::{AtomicU32, AtomicU64, Ordering};

/// What a storage is described by: see the fields of `Storage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Record {
    /// Not 0.
    pub base: u64,
    pub capacity: u32,
    pub owner: u64,
    pub code: u64,
    pub whole: u64,
    pub first: u64,
    pub span: u64,
}

/// A place for a record. The base is written last and zeroed first.
pub struct Note {
    base: AtomicU64,
    capacity: AtomicU32,
    owner: AtomicU64,
    code: AtomicU64,
    whole: AtomicU64,
    first: AtomicU64,
    span: AtomicU64,
    retired: AtomicU32,
}

macro_rules! empty {
    () => {
        Note {
            base: AtomicU64::new(0),
            capacity: AtomicU32::new(0),
            owner: AtomicU64::new(0),
            code: AtomicU64::new(0),
            whole: AtomicU64::new(0),
            first: AtomicU64::new(0),
            span: AtomicU64::new(0),
            retired: AtomicU32::new(0),
        }
    };
}

impl Note {
    /// The record, if there is one.
    #[inline(always)]
    pub fn record(&self) -> Option<Record> {
        let base = self.base.load(Ordering::Acquire);
        (base != 0).then(|| Record {
            base,
            capacity: self.capacity.load(Ordering::Relaxed),
            owner: self.owner.load(Ordering::Relaxed),
            code: self.code.load(Ordering::Relaxed),
            whole: self.whole.load(Ordering::Relaxed),
            first: self.first.load(Ordering::Relaxed),
            span: self.span.load(Ordering::Relaxed),
        })
    }
}

/// Up to `N` records. Writers exclude each other. Between [`Table::forget`] and the next [`Table::add`] they wait for the readers that began
/// before, because a place is used again.
pub struct Table<const N: usize> {
    notes: [Note; N],
    /// How many of `notes` were ever used.
    used: AtomicU32,
}

impl<const N: usize> Table<N> {
    /// No records.
    #[cfg(not(model))]
    pub const EMPTY: Table<N> = Table { notes: [const { empty!() }; N], used: AtomicU32::new(0) };

    /// No records.
    #[cfg(model)]
    pub fn new() -> Table<N> {
        Table { notes: core::array::from_fn(|_| empty!()), used: AtomicU32::new(0) }
    }

    /// The places that may have a record.
    #[inline(always)]
    pub fn notes(&self) -> slice::Iter<'_, Note> {
        let used = self.used.load(Ordering::Acquire) as usize;
        self.notes.get(..used).unwrap_or_default().iter()
    }

    fn note(&self, base: u64) -> Option<&Note> {
        self.notes.iter().find(|note| note.base.load(Ordering::Relaxed) == base)
    }

    /// Whether there is room for another record.
    pub fn has_room(&self) -> bool {
        self.note(0).is_some()
    }

    /// Adds a record, which readers find from now on. Returns whether there was room.
    pub fn add(&self, record: &Record) -> bool {
        let Some(index) = self.notes.iter().position(|note| note.base.load(Ordering::Relaxed) == 0) else {
            return false;
        };
        let Some(note) = self.notes.get(index) else { return false };
        note.capacity.store(record.capacity, Ordering::Relaxed);
        note.owner.store(record.owner, Ordering::Relaxed);
        note.code.store(record.code, Ordering::Relaxed);
        note.whole.store(record.whole, Ordering::Relaxed);
        note.first.store(record.first, Ordering::Relaxed);
        note.span.store(record.span, Ordering::Relaxed);
        note.retired.store(0, Ordering::Relaxed);
        note.base.store(record.base, Ordering::Release);
        self.used.fetch_max(index as u32 + 1, Ordering::Release);
        true
    }

    /// Gives a record to another owner.
    pub fn give(&self, base: u64, owner: u64) {
        if let Some(note) = self.note(base) {
            note.owner.store(owner, Ordering::Relaxed);
        }
    }

    /// Has the records of an owner cover no address. Readers that have begun may still use them as they were.
    pub fn close(&self, owner: u64) {
        for note in self.notes.iter().filter(|note| note.owner.load(Ordering::Relaxed) == owner) {
            // The last address is no site.
            note.first.store(u64::MAX, Ordering::Relaxed);
            note.span.store(0, Ordering::Relaxed);
        }
    }

    /// Removes the records of an owner. Readers that have begun may still use them.
    pub fn forget(&self, owner: u64) {
        for note in self.notes.iter().filter(|note| note.owner.load(Ordering::Relaxed) == owner) {
            note.base.store(0, Ordering::Release);
        }
    }

    /// The number of retired entries of a record.
    pub fn retired(&self, base: u64) -> u32 {
        self.note(base).map_or(0, |note| note.retired.load(Ordering::Relaxed))
    }

    /// Sets the number of retired entries of a record.
    pub fn set_retired(&self, base: u64, count: u32) {
        if let Some(note) = self.note(base) {
            note.retired.store(count, Ordering::Relaxed);
        }
    }
}
