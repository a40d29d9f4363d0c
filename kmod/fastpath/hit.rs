// SPDX-License-Identifier: GPL-2.0

//! A thread at a breakpoint.

use stepping::{Fault, Outcome};
use ubp::arch::{BEHIND, BREAKPOINT};
use ubp::core::{way, Entry, Error as TableError, Number, State, Stored, Way};
use wire::site::Site;

use crate::arch::{self, Modes, Registers};
use crate::storage::{mark, Storage, Storages};
use crate::user::{self, Accesses, Part};

/// The actions of a breakpoint that are due.
#[derive(Clone, Copy)]
pub struct Act {
    /// The attachment that owns the breakpoint.
    pub owner: u64,
    /// The record with which the breakpoint was inserted.
    pub site: Site,
    /// The address of the record.
    pub record: u64,
    /// The number of hits, this one included.
    pub count: u64,
}

/// What became of a hit.
pub enum Hit {
    /// The trap is not of a breakpoint.
    Foreign,
    /// The thread has passed the breakpoint.
    Passed,
    /// The thread has passed the breakpoint, and makes a system call in the slot.
    Syscall,
    /// The thread has passed the breakpoint with its own trap flag set, and is due a trap.
    SingleStep,
    /// The instruction below the breakpoint is one of the program's own breakpoint instructions.
    Breakpoint,
    /// The instruction below the breakpoint is a breakpoint instruction of uprobes or of the program.
    Uprobe,
    /// A page must be brought in first.
    Absent {
        /// An address in the page.
        address: u64,
        /// Whether the page will be written.
        write: bool,
        /// The number of breakpoints that have counted the hit.
        counted: usize,
    },
    /// The search for the breakpoint takes longer than a thread may have interrupts disabled.
    Long {
        /// The number of breakpoints that have counted the hit.
        counted: usize,
    },
    /// A breakpoint has actions, for which the thread has to sleep. The hit goes on afterwards.
    Acts {
        /// The actions.
        act: Act,
        /// The number of breakpoints that have counted the hit, this one included.
        counted: usize,
    },
    /// The breakpoint instruction is that of a slot of this storage.
    InSlot(Storage),
    /// The thread has carried out a step.
    Stepped {
        /// The attachment whose session wanted the step.
        owner: u64,
    },
}

/// The number for a hit that all breakpoints of a site have counted.
pub const ALL: usize = crate::storage::MOST;

/// Words of indexes that a hit follows at most with interrupts disabled, over all storages. The average is below 2 for each storage.
const ATOMIC_BUDGET: u32 = 128;
/// Words of indexes that a hit follows at most. A hit that needs more finds nothing: the program has written to the tables.
pub const BUDGET: u32 = 4096;

/// The active entry of a site in a storage, and the number of its slot.
#[inline(never)]
pub fn find(storage: &Storage, site: u64, counted: usize, budget: &mut u32) -> Result<Option<(Number, Stored)>, Hit> {
    find_here(storage, site, counted, budget)
}

#[inline(always)]
fn find_here(storage: &Storage, site: u64, counted: usize, budget: &mut u32) -> Result<Option<(Number, Stored)>, Hit> {
    if !storage.serves(site) {
        return Ok(None);
    }
    match storage.arena(Part(storage.base)).find_stored(site, budget) {
        Ok(Some((number, stored))) if stored.state() == State::Active => Ok(Some((number, stored))),
        Err(TableError::Inaccessible(at)) => {
            Err(Hit::Absent { address: storage.base.wrapping_add(at.offset), write: false, counted })
        }
        _ => Ok(None),
    }
}

/// Handles a hit that `counted` breakpoints have counted. A hit that has to wait changes nothing but that number.
pub fn hit(storages: &Storages, registers: &Registers, counted: usize, may_wait: bool) -> Hit {
    let site = registers.pc().wrapping_sub(BEHIND);
    let mut rest = storages.at_once();
    let mut budget = if may_wait { BUDGET } else { ATOMIC_BUDGET };
    let (storage, number, entry) = loop {
        let Some(storage) = rest.next() else {
            // The search goes on where the thread may sleep.
            return if budget == 0 && !may_wait { Hit::Long { counted } } else { gone(registers, site) };
        };
        if storage.contains(site) {
            return Hit::InSlot(storage);
        }
        match find_here(&storage, site, 0, &mut budget) {
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
    let mut index = 1;
    if rest.size_hint().1 != Some(0) {
        match others(rest, site, counted, may_wait, &mut budget) {
            Ok(more) => index += more,
            Err(hit) => return hit,
        }
    }
    let slot = storage.arena(Part(storage.base)).slot(number);
    // A slot may need several instructions for one of the program's, and the program expects one trap for it.
    if entry.mark() & mark::SLOT == 0 || registers.is_stepping() || storages.are_watched() {
        return emulate(registers, &entry.entry(), slot, index);
    }
    registers.set_pc(slot);
    Hit::Passed
}

/// Counts the hit for the breakpoints of other storages at the same site. Returns how many there are.
#[inline(never)]
fn others(
    storages: impl Iterator<Item = Storage>,
    site: u64,
    counted: usize,
    may_wait: bool,
    budget: &mut u32,
) -> Result<usize, Hit> {
    let mut index = 1;
    for storage in storages {
        let found = find(&storage, site, index, budget)?;
        if *budget == 0 && !may_wait {
            return Err(Hit::Long { counted: index });
        }
        let Some((number, entry)) = found else { continue };
        if index >= counted {
            if let Some(hit) = count(&storage, number, &entry, index, may_wait) {
                return Err(hit);
            }
        }
        index += 1;
    }
    Ok(index - 1)
}

/// Emulates the instruction, or sends the thread through its slot.
fn emulate(registers: &Registers, entry: &Entry, slot: u64, counted: usize) -> Hit {
    match way(entry, registers.mode(Modes::of_this_machine())) {
        Ok(Way::Slot) => {
            registers.set_pc(slot);
            if entry.mark & mark::SYSCALL != 0 {
                Hit::Syscall
            } else {
                Hit::Passed
            }
        }
        Ok(Way::Emulate(emulate)) => match run(registers, &emulate, entry, slot, counted) {
            Hit::Breakpoint if arch::UPROBE == entry.bytes() => Hit::Uprobe,
            hit => hit,
        },
        // The debuggee has overwritten the table, and the thread cannot pass.
        Err(_) => Hit::Foreign,
    }
}

/// Counts a hit for the breakpoint with the index `index` at its site. Returns a result if the hit cannot go on at once.
#[inline(always)]
fn count(storage: &Storage, number: Number, entry: &Stored, index: usize, may_wait: bool) -> Option<Hit> {
    let record = storage.record(number);
    if entry.mark() & mark::ACTS != 0 {
        return act(storage.owner, record, entry.site(), index, may_wait);
    }
    (!user::add(record)).then_some(Hit::Absent { address: record, write: true, counted: index })
}

/// Counts a hit for a breakpoint whose record has actions.
#[cold]
#[inline(never)]
fn act(owner: u64, record: u64, site: u64, index: usize, may_wait: bool) -> Option<Hit> {
    let absent = |write| Some(Hit::Absent { address: record, write, counted: index });
    let mut bytes = [0; Site::BYTES];
    if !may_wait || !user::read(record, &mut bytes) {
        return absent(false);
    }
    let Some(count) = user::count(record) else { return absent(true) };
    // A record that the debuggee has overwritten may make no sense, and has no actions.
    let site = Site { address: site, ..Site::from_bytes(&bytes).ok()? };
    Some(Hit::Acts { act: Act { owner, site, record, count }, counted: index + 1 })
}

/// Emulates the instruction of a site.
pub fn run(registers: &Registers, emulate: &ubp::arch::Emulate, entry: &Entry, slot: u64, counted: usize) -> Hit {
    let mut memory = Accesses::default();
    let before = registers.pc();
    registers.set_pc(entry.site);
    // A failure changes no register and no memory.
    match registers.emulate(emulate, entry.mark & mark::GUARDED != 0, &mut memory) {
        Ok(Outcome::SingleStep) => Hit::SingleStep,
        // The pc is behind the instruction and its prefixes.
        Ok(Outcome::Breakpoint) => Hit::Breakpoint,
        Err(Fault::Page(address)) => {
            registers.set_pc(before);
            Hit::Absent { address, write: memory.wrote, counted }
        }
        // In the slot the processor raises the fault, or executes what cannot be emulated.
        Ok(Outcome::Slot) | Err(_) => {
            registers.set_pc(slot);
            Hit::Passed
        }
        Ok(_) => Hit::Passed,
    }
}

/// Handles a trap at a site without an entry. If the breakpoint instruction is gone, the thread runs the program's own instruction.
#[cold]
#[inline(never)]
pub fn gone(registers: &Registers, site: u64) -> Hit {
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
