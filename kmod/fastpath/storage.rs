// SPDX-License-Identifier: GPL-2.0

//! Where in an address space the storage of breakpoints lies.

use core::slice;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ubp::core::{Arena, Layout, Memory, Number};
use wire::site::Site;

use crate::arch;

/// The most arenas of one address space: what the kernel keeps of it does not grow.
pub(crate) const MOST: usize = 64;

/// Bits of an entry's mark. Whoever changes them is sent elsewhere in user mode, and nothing more.
pub mod mark {
    /// Its record says what is to be done at a hit.
    pub const ACTS: u8 = 1;
    /// The slot does all that the instruction does, whether it could be emulated or not.
    pub const SLOT: u8 = 2;
    /// It is no breakpoint's: its slot ends with a breakpoint instruction, and who gets there is held.
    pub const STEP: u8 = 4;
    /// It lies in a guarded page, and its slot too.
    pub const GUARDED: u8 = 8;
}

/// One arena: the layout of `ubp::core`, and behind it a record for each entry.
///
/// A record is what `insert` was given (`wire::site`), with the hits so far in place of the address. Threads write it where they
/// are: it lies in a mapping that can be written.
#[derive(Clone, Copy)]
pub struct Storage {
    /// Its address.
    pub base: u64,
    /// The layout.
    pub layout: Layout,
    /// The session, by its number.
    pub owner: u64,
    /// Bytes of what is mapped to be executed, and of the whole: what every hit asks for is worked out once.
    code: u64,
    whole: u64,
    /// The first address that may be a site of it, and how far behind that the last one may lie.
    first: u64,
    span: u64,
}

impl Storage {
    /// One of an owner, at an address, for sites within reach of its slots, or for all.
    pub fn new(base: u64, layout: Layout, owner: u64, far: bool) -> Storage {
        let code = layout.size().next_multiple_of(arch::PAGE);
        let first = base.saturating_add(code).saturating_sub(arch::REACH);
        let (first, span) = if far { (0, u64::MAX) } else { (first, base.saturating_add(arch::REACH) - first) };
        let mut storage = Storage { base, layout, owner, code, whole: 0, first, span };
        storage.whole = code + storage.records_size();
        storage
    }

    /// Bytes of what is mapped to be executed.
    pub fn code_size(&self) -> u64 {
        self.code
    }

    /// Bytes of what is mapped to be written, behind that.
    pub fn records_size(&self) -> u64 {
        (u64::from(self.layout.capacity()) * Site::BYTES as u64).next_multiple_of(arch::PAGE)
    }

    /// Bytes of the whole.
    pub fn size(&self) -> u64 {
        self.whole
    }

    /// The address of an entry's record.
    pub fn record(&self, number: Number) -> u64 {
        self.base + self.code + u64::from(number.0) * Site::BYTES as u64
    }

    /// Whether `site` may be one of it.
    pub fn serves(&self, site: u64) -> bool {
        site.wrapping_sub(self.first) <= self.span
    }

    /// Whether slots in it may be out of reach of their sites: a copy has a trap behind it then in place of the branch.
    pub fn is_far(&self) -> bool {
        self.span == u64::MAX
    }

    /// Whether `address` lies in it.
    pub fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.whole
    }

    /// Its table in `memory`.
    pub fn arena<M: Memory>(&self, memory: M) -> Arena<M> {
        Arena::open(memory, self.base, self.layout)
    }
}

/// Where a storage is noted. The base is written last, and zeroed first.
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

/// All storages of an address space, read without a lock.
pub struct Storages {
    notes: [Note; MOST],
    /// So many of them were ever used.
    used: AtomicU32,
}

/// There is no room for another storage.
#[derive(Debug)]
pub struct Full;

impl Storages {
    /// None.
    pub const NONE: Storages = Storages { notes: [Note::EMPTY; MOST], used: AtomicU32::new(0) };

    /// Gives storage to another owner.
    pub fn give(&self, storage: &Storage, owner: u64) {
        if let Some(note) = self.note(storage.base) {
            note.owner.store(owner, Ordering::Relaxed);
        }
    }

    /// Its storages at this moment, for a hit.
    pub(crate) fn at_once(&self) -> impl Iterator<Item = Storage> + '_ {
        self.used().filter_map(Note::storage)
    }

    /// Its storages at this moment.
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

    /// Whether one more can be noted.
    pub fn has_room(&self) -> bool {
        self.note(0).is_some()
    }

    /// Notes a storage, which hits find from now on. One at a time changes them.
    pub fn add(&self, storage: &Storage) -> Result<(), Full> {
        let place = self.notes.iter().position(|note| note.base.load(Ordering::Relaxed) == 0).ok_or(Full)?;
        let note = self.notes.get(place).ok_or(Full)?;
        note.capacity.store(storage.layout.capacity(), Ordering::Relaxed);
        note.owner.store(storage.owner, Ordering::Relaxed);
        note.code.store(storage.code, Ordering::Relaxed);
        note.whole.store(storage.whole, Ordering::Relaxed);
        note.first.store(storage.first, Ordering::Relaxed);
        note.span.store(storage.span, Ordering::Relaxed);
        note.retired.store(0, Ordering::Relaxed);
        note.base.store(storage.base, Ordering::Release);
        self.used.fetch_max(place as u32 + 1, Ordering::Release);
        Ok(())
    }

    /// Forgets those of an owner, which hits that have begun may use still. One at a time changes them.
    pub fn forget(&self, owner: u64) {
        for note in self.notes.iter().filter(|note| note.owner.load(Ordering::Relaxed) == owner) {
            note.base.store(0, Ordering::Release);
        }
    }

    /// So many entries of a storage are retired.
    pub fn retired(&self, storage: &Storage) -> u32 {
        self.note(storage.base).map_or(0, |note| note.retired.load(Ordering::Relaxed))
    }

    /// Notes how many entries of a storage are retired.
    pub fn set_retired(&self, storage: &Storage, count: u32) {
        if let Some(note) = self.note(storage.base) {
            note.retired.store(count, Ordering::Relaxed);
        }
    }
}

/// Storages one after the other, in little code for each use.
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
