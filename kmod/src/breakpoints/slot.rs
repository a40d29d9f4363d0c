// SPDX-License-Identifier: GPL-2.0

//! Threads in slots, and the addresses of the program that they stand for.

use fastpath::arch::within;
use fastpath::{mark, Modes, Part, Registers, Storage};
use kernel::prelude::*;
use stepping::Progress;
use ubp::arch::Place;
use ubp::core::{passing_near, Arena, Entry, Inaccessible, Layout, Memory, Number, State};
use wire::Failure;

use crate::breakpoints::table::Breakpoints;
use crate::mm::atomic::Atomic;
use crate::mm::interrupted_hits::{InterruptedHits, Known};
use crate::mm::remote::Remote;
use crate::mm::space::Space;
use crate::vec::{zeroes, Keep};

/// A copy of an arena's entries, for readers that must not sleep.
pub(crate) struct Entries {
    bytes: KVVec<u8>,
    layout: Layout,
}

/// Where the entries of an arena are read.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// At an address in the current process. Pages that are not in fail the access.
    Here(u64),
    Copy(&'a Entries),
    /// At an address in a process, by a thread that may sleep.
    There(Remote<'a>, u64),
}

impl Memory for Source<'_> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        match self {
            Source::Here(base) => Part(*base).read(offset, buffer),
            Source::Copy(entries) => {
                let offset = offset.checked_sub(entries.layout.entries()).ok_or(Inaccessible { offset })?;
                // The offset may be that of a program's pc.
                let (place, length) = (offset as usize, entries.bytes.len());
                let place = if place < length { within(place, length) } else { length };
                entries.bytes.as_slice().read(place as u64, buffer)
            }
            Source::There(memory, base) => match memory.read(base.wrapping_add(offset), buffer) {
                Ok(count) if count == buffer.len() => Ok(()),
                _ => Err(Inaccessible { offset }),
            },
        }
    }

    fn write(&mut self, offset: u64, _: &[u8]) -> Result<(), Inaccessible> {
        Err(Inaccessible { offset })
    }
}

/// The arena of a storage in the current process.
#[inline(never)]
pub(crate) fn here(storage: &Storage) -> Arena<Source<'static>> {
    storage.arena(Source::Here(storage.base))
}

impl Entries {
    /// The entries of a storage, up to the first that cannot be read.
    pub(crate) fn of(breakpoints: &Breakpoints<'_>, storage: &Storage) -> Result<Entries, Failure> {
        let count = breakpoints.high_water(storage).unwrap_or(0);
        let layout = storage.layout;
        let length = Entry::SIZE * u64::from(count);
        let mut bytes = KVVec::new();
        zeroes(&mut bytes, length as usize)?;
        let there = breakpoints.memory.read(storage.base + layout.entries(), &mut bytes)?;
        bytes.keep(there);
        Ok(Entries { bytes, layout })
    }

    /// An arena that reads this copy.
    pub(crate) fn arena<'a>(&'a self, storage: &Storage) -> Arena<Source<'a>> {
        storage.arena(Source::Copy(self))
    }

    /// The numbers of the entries.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = Number> {
        (0..self.layout.capacity()).take(self.bytes.len() / Entry::SIZE as usize).map(Number)
    }
}

/// Moves a thread that is in a slot of an arena to the address in the program that it stands for. Returns whether it was in a slot.
/// If the instruction has not run yet, `interrupted` notes the hit; without it the breakpoint will count the hit again.
pub(crate) fn leave(
    registers: &Registers,
    arena: &Arena<Source<'_>>,
    modes: Modes,
    interrupted: Option<&InterruptedHits>,
) -> bool {
    let Some(place) = original(registers.pc(), registers, arena, modes) else { return false };
    registers.set_pc(place.pc);
    if let Some((register, value)) = place.register {
        registers.set(register, value);
    }
    if let (Some(interrupted), Progress::Before) = (interrupted, place.progress) {
        interrupted.note(registers, Known::Counted);
    }
    true
}

/// Moves the current thread to the address in the program that it stands for if it is in a slot.
pub(crate) fn leave_all(space: &Space, registers: &Registers) {
    // SAFETY: nothing sleeps until `atomic` is dropped.
    let atomic = unsafe { Atomic::new() };
    for storage in space.storages.iter() {
        let arena = here(&storage);
        leave(registers, &arena, Modes::of_this_machine(), Some(&space.interrupted));
    }
    drop(atomic);
}

/// What an address in a slot of an arena stands for.
pub(crate) fn original(pc: u64, registers: &Registers, arena: &Arena<Source<'_>>, modes: Modes) -> Option<Place> {
    let (number, offset) = arena.slot_at(pc)?;
    let entry = arena.entry(number).ok()?;
    passing_near(&entry, arena.slot(number), registers.mode(modes)).ok()?.code().original(offset)
}

/// Whether an address lies in the slot of a step.
pub(crate) fn is_step(pc: u64, arena: &Arena<Source<'_>>) -> bool {
    let entry = arena.slot_at(pc).and_then(|(number, _)| arena.entry(number).ok());
    entry.is_some_and(|entry| entry.mark & mark::STEP != 0)
}

/// Whether an address lies in a slot that no hit enters any more, and that is not of a step.
pub(crate) fn is_retired(pc: u64, arena: &Arena<Source<'_>>) -> bool {
    let entry = arena.slot_at(pc).and_then(|(number, _)| arena.entry(number).ok());
    entry.is_some_and(|entry| entry.state == State::Retired && entry.mark & mark::STEP == 0)
}
