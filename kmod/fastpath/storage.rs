// SPDX-License-Identifier: GPL-2.0

//! The storages of an address space: arenas with tables and slots, and a record for each breakpoint.

use core::slice;
use core::sync::atomic::{AtomicBool, Ordering};

use ubp::core::{Arena, Layout, Memory, Number};
use wire::site::Site;

use crate::arch;
use crate::lockfree::{Note, Record, Table};

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
    /// The instruction is a system call. The thread leaves the slot when it begins the call.
    pub const SYSCALL: u8 = 16;
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

/// The storages of an address space. Readers take no lock, and are in a read-side section of RCU or exclude changes.
pub struct Storages {
    table: Table<MOST>,
    /// Whether a session watches memory.
    watched: AtomicBool,
}

/// The failure to add a storage where there is no room.
#[derive(Debug)]
pub struct Full;

impl Storages {
    /// No storages.
    pub const NONE: Storages = Storages { table: Table::EMPTY, watched: AtomicBool::new(false) };

    /// Gives a storage to another attachment.
    pub fn give(&self, storage: &Storage, owner: u64) {
        self.table.give(storage.base, owner);
    }

    /// Sessions watch memory from here on. An access in the middle of a slot would be told with the address of an instruction that is not
    /// complete, so such instructions are emulated.
    pub fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Whether sessions watch memory, or did.
    #[inline(always)]
    pub(crate) fn are_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// The present storages, in code that is inlined for a hit.
    pub(crate) fn at_once(&self) -> impl Iterator<Item = Storage> + '_ {
        self.table.notes().filter_map(storage)
    }

    /// The present storages.
    pub fn iter(&self) -> Iter<'_> {
        Iter { notes: self.table.notes() }
    }

    /// Whether there is room for another storage.
    pub fn has_room(&self) -> bool {
        self.table.has_room()
    }

    /// Adds a storage, which hits find from now on. The caller excludes other changes.
    pub fn add(&self, storage: &Storage) -> Result<(), Full> {
        let Storage { base, layout, owner, code, whole, first, span } = *storage;
        let record = Record { base, capacity: layout.capacity(), owner, code, whole, first, span };
        self.table.add(&record).then_some(()).ok_or(Full)
    }

    /// Has the storages of an attachment serve no site. Hits that have begun may still use them, and threads in their slots find them. The
    /// caller excludes other changes.
    pub fn close(&self, owner: u64) {
        self.table.close(owner);
    }

    /// Removes the storages of an attachment. Hits that have begun may still use them. The caller excludes other changes, and waits for these
    /// hits before the next change.
    pub fn forget(&self, owner: u64) {
        self.table.forget(owner);
    }

    /// The number of retired entries of a storage.
    pub fn retired(&self, storage: &Storage) -> u32 {
        self.table.retired(storage.base)
    }

    /// Sets the number of retired entries of a storage.
    pub fn set_retired(&self, storage: &Storage, count: u32) {
        self.table.set_retired(storage.base, count);
    }
}

/// The storage that a note describes.
#[inline(always)]
fn storage(note: &Note) -> Option<Storage> {
    let Record { base, capacity, owner, code, whole, first, span } = note.record()?;
    Some(Storage { base, layout: Layout::new(capacity), owner, code, whole, first, span })
}

/// Iterates over storages, in little code for each use.
pub struct Iter<'a> {
    notes: slice::Iter<'a, Note>,
}

impl Iterator for Iter<'_> {
    type Item = Storage;

    #[inline(never)]
    fn next(&mut self) -> Option<Storage> {
        self.notes.find_map(storage)
    }
}
