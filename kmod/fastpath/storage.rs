// SPDX-License-Identifier: GPL-2.0

//! The storages of an address space: arenas with tables and slots, and a record for each breakpoint.

use core::slice;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ubp::core::{Arena, Layout, Memory, Number};
use wire::site::Site;

use crate::arch;

/// Storages of an address space at most, so that the kernel's memory stays bounded.
pub(crate) const MOST: usize = 64;

/// Bits of an entry's mark. A debuggee that changes them only misleads its own threads.
pub mod mark {
    /// The record has actions.
    pub const ACTS: u8 = 1;
    /// The slot does all that the instruction does, even if the instruction could be emulated.
    pub const SLOT: u8 = 2;
    /// The entry is that of a step: its slot ends with a breakpoint instruction, where the thread is held.
    pub const STEP: u8 = 4;
    /// The site and its slot lie in guarded pages (BTI).
    pub const GUARDED: u8 = 8;
}

/// An arena with the layout of `ubp::core`, and behind it a record for each entry.
///
/// A record is the site that `insert` was given (`wire::site`), with the number of hits in place of the address. Threads count in it, so
/// records lie in a writable mapping.
#[derive(Clone, Copy)]
pub struct Storage {
    /// The address.
    pub base: u64,
    /// The layout of the arena.
    pub layout: Layout,
    /// The attachment that owns it.
    pub owner: u64,
    /// Bytes of the executable mapping, and of both mappings. Every hit needs them, so they are computed once.
    code: u64,
    whole: u64,
    /// The first address that its slots reach, and the distance from there to the last one.
    first: u64,
    span: u64,
}

impl Storage {
    /// A storage at an address. A `far` one serves all sites, otherwise those within reach of its slots.
    pub fn new(base: u64, layout: Layout, owner: u64, far: bool) -> Storage {
        let code = layout.size().next_multiple_of(arch::PAGE);
        let first = base.saturating_add(code).saturating_sub(arch::REACH);
        let (first, span) = if far { (0, u64::MAX) } else { (first, base.saturating_add(arch::REACH) - first) };
        let mut storage = Storage { base, layout, owner, code, whole: 0, first, span };
        storage.whole = code + storage.records_size();
        storage
    }

    /// Bytes of the executable mapping, which holds the arena.
    pub fn code_size(&self) -> u64 {
        self.code
    }

    /// Bytes of the writable mapping behind it, which holds the records.
    pub fn records_size(&self) -> u64 {
        (u64::from(self.layout.capacity()) * Site::BYTES as u64).next_multiple_of(arch::PAGE)
    }

    /// Bytes of both mappings.
    pub fn size(&self) -> u64 {
        self.whole
    }

    /// The address of an entry's record.
    pub fn record(&self, number: Number) -> u64 {
        self.base + self.code + u64::from(number.0) * Site::BYTES as u64
    }

    /// Whether it may have an entry of `site`.
    pub fn serves(&self, site: u64) -> bool {
        site.wrapping_sub(self.first) <= self.span
    }

    /// Whether its slots may be out of reach of their sites. Such a slot ends with a trap in place of the branch.
    pub fn is_far(&self) -> bool {
        self.span == u64::MAX
    }

    /// Whether `address` lies in it.
    pub fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.whole
    }

    /// The arena, read and written through `memory`.
    pub fn arena<M: Memory>(&self, memory: M) -> Arena<M> {
        Arena::open(memory, self.base, self.layout)
    }
}

/// A storage of an address space. The base is written last and zeroed first.
struct Note {
    base: AtomicU64,
    capacity: AtomicU32,
    owner: AtomicU64,
    code: AtomicU64,
    whole: AtomicU64,
    first: AtomicU64,
    span: AtomicU64,
    retired: AtomicU32,
}

impl Note {
    const EMPTY: Note = Note {
        base: AtomicU64::new(0),
        capacity: AtomicU32::new(0),
        owner: AtomicU64::new(0),
        code: AtomicU64::new(0),
        whole: AtomicU64::new(0),
        first: AtomicU64::new(0),
        span: AtomicU64::new(0),
        retired: AtomicU32::new(0),
    };

    #[inline(always)]
    fn storage(&self) -> Option<Storage> {
        let base = self.base.load(Ordering::Acquire);
        (base != 0).then(|| Storage {
            base,
            layout: Layout::new(self.capacity.load(Ordering::Relaxed)),
            owner: self.owner.load(Ordering::Relaxed),
            code: self.code.load(Ordering::Relaxed),
            whole: self.whole.load(Ordering::Relaxed),
            first: self.first.load(Ordering::Relaxed),
            span: self.span.load(Ordering::Relaxed),
        })
    }
}

/// The storages of an address space. Readers take no lock.
pub struct Storages {
    notes: [Note; MOST],
    /// How many of `notes` were ever used.
    used: AtomicU32,
}

/// The failure to add a storage where there is no room.
#[derive(Debug)]
pub struct Full;

impl Storages {
    /// No storages.
    pub const NONE: Storages = Storages { notes: [Note::EMPTY; MOST], used: AtomicU32::new(0) };

    /// Gives a storage to another attachment.
    pub fn give(&self, storage: &Storage, owner: u64) {
        if let Some(note) = self.note(storage.base) {
            note.owner.store(owner, Ordering::Relaxed);
        }
    }

    /// The present storages, in code that is inlined for a hit.
    pub(crate) fn at_once(&self) -> impl Iterator<Item = Storage> + '_ {
        self.used().filter_map(Note::storage)
    }

    /// The present storages.
    pub fn iter(&self) -> Iter<'_> {
        Iter { notes: self.used() }
    }

    #[inline(always)]
    fn used(&self) -> slice::Iter<'_, Note> {
        let used = self.used.load(Ordering::Acquire) as usize;
        self.notes.get(..used).unwrap_or_default().iter()
    }

    fn note(&self, base: u64) -> Option<&Note> {
        self.notes.iter().find(|note| note.base.load(Ordering::Relaxed) == base)
    }

    /// Whether there is room for another storage.
    pub fn has_room(&self) -> bool {
        self.note(0).is_some()
    }

    /// Adds a storage, which hits find from now on. The caller excludes other changes.
    pub fn add(&self, storage: &Storage) -> Result<(), Full> {
        let index = self.notes.iter().position(|note| note.base.load(Ordering::Relaxed) == 0).ok_or(Full)?;
        let note = self.notes.get(index).ok_or(Full)?;
        note.capacity.store(storage.layout.capacity(), Ordering::Relaxed);
        note.owner.store(storage.owner, Ordering::Relaxed);
        note.code.store(storage.code, Ordering::Relaxed);
        note.whole.store(storage.whole, Ordering::Relaxed);
        note.first.store(storage.first, Ordering::Relaxed);
        note.span.store(storage.span, Ordering::Relaxed);
        note.retired.store(0, Ordering::Relaxed);
        note.base.store(storage.base, Ordering::Release);
        self.used.fetch_max(index as u32 + 1, Ordering::Release);
        Ok(())
    }

    /// Has the storages of an attachment serve no site. Hits that have begun may still use them, and threads in their slots find them. The
    /// caller excludes other changes.
    pub fn close(&self, owner: u64) {
        for note in self.notes.iter().filter(|note| note.owner.load(Ordering::Relaxed) == owner) {
            // The last address is no site.
            note.first.store(u64::MAX, Ordering::Relaxed);
            note.span.store(0, Ordering::Relaxed);
        }
    }

    /// Removes the storages of an attachment. Hits that have begun may still use them. The caller excludes other changes.
    pub fn forget(&self, owner: u64) {
        for note in self.notes.iter().filter(|note| note.owner.load(Ordering::Relaxed) == owner) {
            note.base.store(0, Ordering::Release);
        }
    }

    /// The number of retired entries of a storage.
    pub fn retired(&self, storage: &Storage) -> u32 {
        self.note(storage.base).map_or(0, |note| note.retired.load(Ordering::Relaxed))
    }

    /// Sets the number of retired entries of a storage.
    pub fn set_retired(&self, storage: &Storage, count: u32) {
        if let Some(note) = self.note(storage.base) {
            note.retired.store(count, Ordering::Relaxed);
        }
    }
}

/// Iterates over storages, in little code for each use.
pub struct Iter<'a> {
    notes: slice::Iter<'a, Note>,
}

impl Iterator for Iter<'_> {
    type Item = Storage;

    #[inline(never)]
    fn next(&mut self) -> Option<Storage> {
        self.notes.find_map(Note::storage)
    }
}
