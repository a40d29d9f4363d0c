// SPDX-License-Identifier: GPL-2.0

//! An address space with breakpoints, and where in it their storage lies.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use kernel::bindings;
use kernel::ffi::c_void;
use kernel::prelude::*;
use kernel::sync::lock::spinlock::SpinLockBackend;
use kernel::sync::lock::Guard;
use kernel::sync::{Arc, Mutex, SpinLock};
use kernel::{new_mutex, new_spinlock};
use ubp::core::{Arena, Layout, Memory, Number};
use wire::site::Site;

use crate::again::Again;
use crate::arch;
use crate::c;
use crate::list;
use crate::watch::{Watch, Why};

/// The most arenas of one address space: what the kernel keeps of it does not grow.
pub(crate) const MOST: usize = 64;

/// Bits of an entry's mark. Whoever changes them is sent elsewhere in user mode, and nothing more.
pub(crate) mod mark {
    /// Its record says what is to be done at a hit.
    pub(crate) const ACTS: u8 = 1;
    /// The slot does all that the instruction does.
    pub(crate) const SLOT: u8 = 2;
    /// It is no breakpoint's: its slot ends with a breakpoint instruction, and who gets there is held.
    pub(crate) const STEP: u8 = 4;
}

/// One arena: the layout of `ubp::core`, and behind it a record for each entry.
///
/// A record is what `insert` was given (`wire::site`), with the hits so far in place of the address. Threads write it where they
/// are: it lies in a mapping that can be written.
#[derive(Clone, Copy)]
pub(crate) struct Storage {
    pub(crate) base: u64,
    pub(crate) layout: Layout,
    /// The session, by its number.
    pub(crate) owner: u64,
    /// Bytes of the layout, and of the whole: what every hit asks for is worked out once.
    table: u64,
    whole: u64,
}

impl Storage {
    /// One of an owner, at an address.
    pub(crate) fn new(base: u64, layout: Layout, owner: u64) -> Storage {
        let mut storage = Storage { base, layout, owner, table: layout.size(), whole: 0 };
        storage.whole = storage.code_size() + storage.records_size();
        storage
    }

    /// Bytes of what is mapped to be executed.
    pub(crate) fn code_size(&self) -> u64 {
        self.table.next_multiple_of(arch::PAGE)
    }

    /// Bytes of what is mapped to be written, behind that.
    pub(crate) fn records_size(&self) -> u64 {
        (u64::from(self.layout.capacity()) * Site::BYTES as u64).next_multiple_of(arch::PAGE)
    }

    /// Bytes of the whole.
    pub(crate) fn size(&self) -> u64 {
        self.whole
    }

    /// The address of an entry's record.
    pub(crate) fn record(&self, number: Number) -> u64 {
        self.base + self.code_size() + u64::from(number.0) * Site::BYTES as u64
    }

    /// Whether a slot in it reaches `site`.
    pub(crate) fn reaches(&self, site: u64) -> bool {
        arch::reaches(self.base, self.base + self.table, site, site)
    }

    /// Whether `address` lies in it.
    pub(crate) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.whole
    }

    /// Its table in `memory`.
    pub(crate) fn arena<M: Memory>(&self, memory: M) -> Arena<M> {
        Arena::open(memory, self.base, self.layout)
    }
}

/// Where a storage is noted. The base is written last, and zeroed first.
#[derive(Default)]
struct Note {
    base: AtomicU64,
    capacity: AtomicU32,
    owner: AtomicU64,
    table: AtomicU64,
    whole: AtomicU64,
    retired: AtomicU32,
}

impl Note {
    const EMPTY: Note = Note {
        base: AtomicU64::new(0),
        capacity: AtomicU32::new(0),
        owner: AtomicU64::new(0),
        table: AtomicU64::new(0),
        whole: AtomicU64::new(0),
        retired: AtomicU32::new(0),
    };
}

/// A reference to the kernel's description of an address space, not to the memory.
struct Description(*mut c_void);

impl Drop for Description {
    fn drop(&mut self) {
        // SAFETY: who made it took a reference.
        unsafe { c::ntrace_memory_drop(self.0) };
    }
}

/// An address space. What a hit needs is read without a lock.
#[pin_data]
pub(crate) struct Space {
    mm: Description,
    /// The next one in the table.
    pub(crate) next: AtomicPtr<Space>,
    /// Debuggees of it; guarded by the table's lock.
    pub(crate) users: AtomicU32,
    /// The copy that a fork made: its breakpoints go before it runs.
    forked: AtomicBool,
    notes: [Note; MOST],
    /// So many of them were ever used.
    used: AtomicU32,
    /// Threads that come to a breakpoint once more.
    pub(crate) again: Again,
    /// Held while breakpoints are set or taken out.
    #[pin]
    pub(crate) changes: Mutex<()>,
    /// Sessions that trace it.
    #[pin]
    watches: SpinLock<KVec<Arc<Watch>>>,
    /// Sessions that trace the process of which this is a copy that has not run.
    #[pin]
    heirs: SpinLock<KVec<Arc<Watch>>>,
}

// SAFETY: `mm` is a counted reference that belongs to no thread; all else is atomic or has a lock.
unsafe impl Send for Space {}
// SAFETY: the same.
unsafe impl Sync for Space {}

impl Space {
    /// One without storage, of which a reference to `mm` is taken.
    #[inline(never)]
    pub(crate) fn new(mm: *mut c_void, forked: bool, flags: kernel::alloc::Flags) -> Result<Pin<KBox<Space>>> {
        // SAFETY: the caller has a reference of its own.
        unsafe { c::ntrace_memory_hold(mm) };
        let mm = Description(mm);
        KBox::pin_init(
            pin_init!(Space {
                mm,
                next: AtomicPtr::new(core::ptr::null_mut()),
                users: AtomicU32::new(1),
                forked: AtomicBool::new(forked),
                notes: [Note::EMPTY; MOST],
                used: AtomicU32::new(0),
                again: Again::NOBODY,
                changes <- new_mutex!((), "ntrace breakpoints"),
                watches <- new_spinlock!(KVec::new(), "ntrace watches"),
                heirs <- new_spinlock!(KVec::new(), "ntrace heirs"),
            }),
            flags,
        )
    }

    /// The kernel's description of it.
    pub(crate) fn mm(&self) -> *mut c_void {
        self.mm.0
    }

    /// Whether it is the copy that a fork made and that has not run yet.
    pub(crate) fn is_forked(&self) -> bool {
        self.forked.load(Ordering::Relaxed)
    }

    /// Whether it was that copy until now: whoever asks first ends the use that the fork made.
    pub(crate) fn take_forked(&self) -> bool {
        self.forked.swap(false, Ordering::AcqRel)
    }

    /// Notes a session that traces it.
    pub(crate) fn add_watch(&self, watch: &Arc<Watch>) -> Result {
        Ok(self.watches.lock().push(watch.clone(), GFP_ATOMIC)?)
    }

    /// Forgets a session.
    pub(crate) fn forget_watch(&self, owner: u64) {
        drop(list::take(&mut self.watches.lock(), |watch| watch.owner == owner));
    }

    /// The session with this number.
    pub(crate) fn watch(&self, owner: u64) -> Option<Arc<Watch>> {
        self.watches.lock().iter().find(|watch| watch.owner == owner).cloned()
    }

    /// The session that has called the thread that runs here, and why.
    pub(crate) fn calling(&self) -> Option<(Arc<Watch>, Why)> {
        self.watches().iter().find_map(|watch| Some((watch.clone(), watch.called_this()?)))
    }

    /// All sessions that trace it, locked.
    pub(crate) fn watches(&self) -> Guard<'_, KVec<Arc<Watch>>, SpinLockBackend> {
        self.watches.lock()
    }

    /// Sessions that trace a process that is being forked.
    pub(crate) fn heirs(&self) -> Result<KVec<Arc<Watch>>> {
        let watches = self.watches();
        let mut heirs = KVec::new();
        heirs.reserve(watches.len(), GFP_ATOMIC)?;
        for watch in watches.iter() {
            heirs.push(watch.clone(), GFP_ATOMIC)?;
        }
        Ok(heirs)
    }

    /// Notes who traces the process of which this is a copy.
    pub(crate) fn set_heirs(&self, heirs: KVec<Arc<Watch>>) {
        *self.heirs.lock() = heirs;
    }

    /// Gives and forgets them.
    pub(crate) fn take_heirs(&self) -> KVec<Arc<Watch>> {
        core::mem::take(&mut *self.heirs.lock())
    }

    /// Gives storage to another owner. Called with `changes` held.
    pub(crate) fn give(&self, storage: &Storage, owner: u64) {
        if let Some(note) = self.note(storage.base) {
            note.owner.store(owner, Ordering::Relaxed);
        }
    }

    /// What was copied by a fork and is no session's now belongs to nobody.
    pub(crate) fn disown(&self) {
        let changes = self.changes.lock();
        for storage in self.storages().filter(|storage| self.watch(storage.owner).is_none()) {
            self.give(&storage, 0);
        }
        drop(changes);
    }

    /// Its storages at this moment.
    pub(crate) fn storages(&self) -> impl Iterator<Item = Storage> + '_ {
        let used = self.used.load(Ordering::Acquire) as usize;
        self.notes.get(..used).unwrap_or_default().iter().filter_map(|note| {
            let base = note.base.load(Ordering::Acquire);
            (base != 0).then(|| Storage {
                base,
                layout: Layout::new(note.capacity.load(Ordering::Relaxed)),
                owner: note.owner.load(Ordering::Relaxed),
                table: note.table.load(Ordering::Relaxed),
                whole: note.whole.load(Ordering::Relaxed),
            })
        })
    }

    fn note(&self, base: u64) -> Option<&Note> {
        self.notes.iter().find(|note| note.base.load(Ordering::Relaxed) == base)
    }

    /// Whether one more can be noted.
    pub(crate) fn has_room(&self) -> bool {
        self.note(0).is_some()
    }

    /// Notes a storage, which hits find from now on. Called with `changes` held, or before others see this.
    pub(crate) fn add(&self, storage: &Storage) -> Result {
        let place = self.notes.iter().position(|note| note.base.load(Ordering::Relaxed) == 0).ok_or(ENOSPC)?;
        let note = self.notes.get(place).ok_or(ENOSPC)?;
        note.capacity.store(storage.layout.capacity(), Ordering::Relaxed);
        note.owner.store(storage.owner, Ordering::Relaxed);
        note.table.store(storage.table, Ordering::Relaxed);
        note.whole.store(storage.whole, Ordering::Relaxed);
        note.retired.store(0, Ordering::Relaxed);
        note.base.store(storage.base, Ordering::Release);
        self.used.fetch_max(place as u32 + 1, Ordering::Release);
        Ok(())
    }

    /// Forgets storages; returns when no hit uses them. Called with `changes` held.
    pub(crate) fn forget(&self, owner: u64) {
        for note in self.notes.iter().filter(|note| note.owner.load(Ordering::Relaxed) == owner) {
            note.base.store(0, Ordering::Release);
        }
        wait_for_hits();
    }

    /// So many entries of a storage are retired.
    pub(crate) fn retired(&self, storage: &Storage) -> u32 {
        self.note(storage.base).map_or(0, |note| note.retired.load(Ordering::Relaxed))
    }

    /// Notes how many entries of a storage are retired.
    pub(crate) fn set_retired(&self, storage: &Storage, count: u32) {
        if let Some(note) = self.note(storage.base) {
            note.retired.store(count, Ordering::Relaxed);
        }
    }
}

/// Returns when all hits that began before have left to user mode or wait for a page.
pub(crate) fn wait_for_hits() {
    // SAFETY: called where sleeping is allowed.
    unsafe { bindings::synchronize_rcu() };
}
