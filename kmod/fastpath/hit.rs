// SPDX-License-Identifier: GPL-2.0

//! A thread at a breakpoint.

use stepping::{Fault, Outcome};
use ubp::arch::{BEHIND, BREAKPOINT};
use ubp::core::{way, Entry, Error as TableError, Number, State, Stored, Way};
use wire::site::Site;

use crate::arch::{self, Modes, Registers};
use crate::storage::{mark, Storage, Storages};
use crate::user::{self, Accesses, Part};

/// What one session's breakpoint is to do.
#[derive(Clone, Copy)]
pub struct Act {
    /// The session's number for the process.
    pub owner: u64,
    /// What it was inserted with.
    pub site: Site,
    /// Hits so far, this one included.
    pub count: u64,
}

/// How a hit went.
pub enum Hit {
    /// Nothing of ours.
    Foreign,
    /// The thread goes on.
    Passed,
    /// The thread has done one instruction with its own trap flag set.
    SingleStep,
    /// There is a breakpoint instruction of the program itself, which the thread is due.
    Breakpoint,
    /// The same, or one of uprobes.
    Uprobe,
    /// Memory is to be brought in first; so many breakpoints have counted it.
    Absent {
        /// Where.
        address: u64,
        /// It is to be written.
        write: bool,
        /// So many.
        counted: usize,
    },
    /// One breakpoint, the last of so many that have counted it, has something to do where one may wait; then it goes on.
    Acts {
        /// What.
        act: Act,
        /// So many.
        counted: usize,
    },
    /// There is a breakpoint instruction in a slot, which is of this storage.
    InSlot(Storage),
    /// The thread has carried out an instruction for which this owner's session let it go.
    Stepped {
        /// The session, by its number.
        owner: u64,
    },
}

/// All breakpoints of a place have counted a hit.
pub const ALL: usize = crate::storage::MOST;

/// The active entry of a site in an arena; who finds it goes on with the number of its slot.
#[inline(never)]
pub fn find(storage: &Storage, site: u64, counted: usize) -> Result<Option<(Number, Stored)>, Hit> {
    find_here(storage, site, counted)
}

#[inline(always)]
fn find_here(storage: &Storage, site: u64, counted: usize) -> Result<Option<(Number, Stored)>, Hit> {
    if !storage.serves(site) {
        return Ok(None);
    }
    match storage.arena(Part(storage.base)).find_stored(site) {
        Ok(Some((number, stored))) if stored.state() == State::Active => Ok(Some((number, stored))),
        Err(TableError::Inaccessible(at)) => {
            Err(Hit::Absent { address: storage.base.wrapping_add(at.offset), write: false, counted })
        }
        _ => Ok(None),
    }
}

/// A thread has run into a breakpoint instruction, which so many breakpoints have counted. Whatever cannot be done at once changes
/// nothing but that number.
pub fn hit(storages: &Storages, registers: &mut Registers, counted: usize, may_wait: bool) -> Hit {
    let site = registers.pc().wrapping_sub(BEHIND);
    let mut rest = storages.at_once();
    let (storage, number, entry) = loop {
        let Some(storage) = rest.next() else { return gone(registers, site) };
        if storage.contains(site) {
            return Hit::InSlot(storage);
        }
        match find_here(&storage, site, 0) {
            Ok(Some((number, entry))) => break (storage, number, entry),
            Ok(None) => {}
            Err(absent) => return absent,
        }
    };
    if counted == 0 {
        if let Some(hit) = count(&storage, number, &entry, 0, may_wait) {
            return hit;
        }
    }
    let mut place = 1;
    if rest.size_hint().1 != Some(0) {
        match others(rest, site, counted, may_wait) {
            Ok(more) => place += more,
            Err(hit) => return hit,
        }
    }
    let slot = storage.arena(Part(storage.base)).slot(number);
    // A slot may do by several instructions what the program is to be trapped behind once.
    if entry.mark() & mark::SLOT == 0 || registers.is_stepping() {
        return emulate(registers, &entry.entry(), slot, place);
    }
    registers.set_pc(slot);
    Hit::Passed
}

/// Has breakpoints that other storages have at the same site count, too; says how many they are.
#[inline(never)]
fn others(storages: impl Iterator<Item = Storage>, site: u64, counted: usize, may_wait: bool) -> Result<usize, Hit> {
    let mut place = 1;
    for storage in storages {
        let Some((number, entry)) = find(&storage, site, place)? else { continue };
        if place >= counted {
            if let Some(hit) = count(&storage, number, &entry, place, may_wait) {
                return Err(hit);
            }
        }
        place += 1;
    }
    Ok(place - 1)
}

/// Does what the instruction does, unless its slot does.
fn emulate(registers: &mut Registers, entry: &Entry, slot: u64, counted: usize) -> Hit {
    match way(entry, registers.mode(Modes::of_this_machine())) {
        Ok(Way::Slot) => {
            registers.set_pc(slot);
            Hit::Passed
        }
        Ok(Way::Emulate(emulate)) => match run(registers, &emulate, entry, slot, counted) {
            Hit::Breakpoint if arch::UPROBE == entry.bytes() => Hit::Uprobe,
            hit => hit,
        },
        // Somebody wrote to the table: the thread cannot be helped.
        Err(_) => Hit::Foreign,
    }
}

/// Counts a hit of one breakpoint, which is number `place` at its site. Says what stands in the way, or is to be done.
#[inline(always)]
fn count(storage: &Storage, number: Number, entry: &Stored, place: usize, may_wait: bool) -> Option<Hit> {
    let record = storage.record(number);
    if entry.mark() & mark::ACTS != 0 {
        return act(storage.owner, record, entry.site(), place, may_wait);
    }
    (!user::add(record)).then_some(Hit::Absent { address: record, write: true, counted: place })
}

/// The same for one whose record says what is to be done.
#[cold]
#[inline(never)]
fn act(owner: u64, record: u64, site: u64, place: usize, may_wait: bool) -> Option<Hit> {
    let absent = |write| Some(Hit::Absent { address: record, write, counted: place });
    let mut bytes = [0; Site::BYTES];
    if !may_wait || !user::read(record, &mut bytes) {
        return absent(false);
    }
    let Some(count) = user::count(record) else { return absent(true) };
    // Nonsense, which somebody else wrote, does nothing.
    let site = Site { address: site, ..Site::from_bytes(&bytes).ok()? };
    Some(Hit::Acts { act: Act { owner, site, count }, counted: place + 1 })
}

/// Emulates the instruction of a site.
pub fn run(registers: &mut Registers, emulate: &ubp::arch::Emulate, entry: &Entry, slot: u64, counted: usize) -> Hit {
    let mut memory = Accesses::default();
    let before = registers.pc();
    registers.set_pc(entry.site);
    // Whatever fails changes nothing.
    match registers.emulate(emulate, entry.mark & mark::GUARDED != 0, &mut memory) {
        Ok(Outcome::SingleStep) => Hit::SingleStep,
        // Behind it, with the prefixes that it may have.
        Ok(Outcome::Breakpoint) => Hit::Breakpoint,
        Err(Fault::Page(address)) => {
            registers.set_pc(before);
            Hit::Absent { address, write: memory.wrote, counted }
        }
        // The processor itself raises the fault, or does what cannot be done here.
        Ok(Outcome::Slot) | Err(_) => {
            registers.set_pc(slot);
            Hit::Passed
        }
        Ok(_) => Hit::Passed,
    }
}

/// No breakpoint stands there any more, or none of ours.
#[cold]
#[inline(never)]
pub fn gone(registers: &mut Registers, site: u64) -> Hit {
    let mut bytes = BREAKPOINT;
    if !user::read(site, &mut bytes) {
        return Hit::Absent { address: site, write: false, counted: 0 };
    }
    if bytes == BREAKPOINT {
        return Hit::Foreign;
    }
    registers.set_pc(site);
    Hit::Passed
}
