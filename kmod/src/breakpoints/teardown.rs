// SPDX-License-Identifier: GPL-2.0

//! Taking threads out of slots, and slots out of memory.

use fastpath::{mark, Modes, Part, Registers, Storage};
use kernel::ffi::c_void;
use kernel::prelude::*;
use stepping::Progress;
use ubp::arch::BREAKPOINT;
use ubp::core::{passing_near, Arena, Entry, Inaccessible, Layout, Memory, Number, State};
use wire::{Failure, Status};

use crate::arch::PAGE;
use crate::breakpoints::patch::Patches;
use crate::ffi;
use crate::mm::interrupted_hits::Again;
use crate::mm::space::wait_for_hits;
use crate::process::debuggee::Debuggee;
use crate::vec::Keep;

/// The entries of an arena as they were at some moment: they can be read where no page may be waited for.
pub(crate) struct Entries {
    bytes: KVVec<u8>,
    layout: Layout,
}

/// Where entries are read.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// In the memory of the process that runs here, at this address, without waiting for a page.
    Here(u64),
    Copy(&'a Entries),
    /// In the memory of a process, at this address, where one may wait.
    There(&'a Debuggee, u64),
}

impl Memory for Source<'_> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        match self {
            Source::Here(base) => Part(*base).read(offset, buffer),
            Source::Copy(entries) => {
                let offset = offset.checked_sub(entries.layout.entries()).ok_or(Inaccessible { offset })?;
                entries.bytes.as_slice().read(offset, buffer)
            }
            Source::There(debuggee, base) => match debuggee.read(base.wrapping_add(offset), buffer) {
                Ok(count) if count == buffer.len() => Ok(()),
                _ => Err(Inaccessible { offset }),
            },
        }
    }

    fn write(&mut self, offset: u64, _: &[u8]) -> Result<(), Inaccessible> {
        Err(Inaccessible { offset })
    }
}

/// The arena of a storage of the process that runs here.
#[inline(never)]
pub(crate) fn here(storage: &Storage) -> Arena<Source<'static>> {
    storage.arena(Source::Here(storage.base))
}

impl Entries {
    /// Those of an arena, as far as they can be read.
    fn of(debuggee: &Debuggee, storage: &Storage) -> Result<Entries, Failure> {
        let count = debuggee.high_water(storage).unwrap_or(0);
        let layout = storage.layout;
        let length = Entry::SIZE * u64::from(count);
        let mut bytes = KVVec::new();
        crate::device::commands::zeroes(&mut bytes, length as usize)?;
        let there = debuggee.read(storage.base + layout.entries(), &mut bytes)?;
        bytes.keep(there);
        Ok(Entries { bytes, layout })
    }

    /// Their arena.
    fn arena<'a>(&'a self, storage: &Storage) -> Arena<Source<'a>> {
        storage.arena(Source::Copy(self))
    }

    /// The number of each that there is.
    fn numbers(&self) -> impl Iterator<Item = Number> {
        (0..self.layout.capacity()).take(self.bytes.len() / Entry::SIZE as usize).map(Number)
    }
}

/// What is asked of every thread while no processor runs any.
struct Sweep<'a> {
    again: &'a Again,
    storages: &'a [(Storage, Entries)],
    mode: Modes,
    /// Only retired slots go: who stands in another one has been counted, and goes on there. So does who carries out one instruction.
    only_retired: bool,
}

/// Puts a thread that stands in a slot where it would be without breakpoints.
///
/// # Safety
/// `data` is a `Sweep`, and `registers` those of a thread that does not run.
unsafe extern "C" fn look(registers: *mut Registers, data: *mut c_void) {
    // SAFETY: the caller's promise.
    let (sweep, registers) = unsafe { (&*data.cast::<Sweep<'_>>(), &mut *registers) };
    for (storage, entries) in sweep.storages {
        if sweep.only_retired && !is_retired(registers.pc(), &entries.arena(storage)) {
            continue;
        }
        leave(registers, &entries.arena(storage), sweep.mode, Some(sweep.again));
    }
}

/// Puts a thread that stands in a slot of an arena where it would be without. Says whether it stood in one. Who has not carried the
/// instruction out is noted in `again`; without that the breakpoint counts it a second time.
pub(crate) fn leave(registers: &mut Registers, arena: &Arena<Source<'_>>, modes: Modes, again: Option<&Again>) -> bool {
    let Some(place) = original(registers.pc(), registers, arena, modes) else { return false };
    registers.set_pc(place.pc);
    if let Some((register, value)) = place.register {
        registers.set(register, value);
    }
    if let (Some(again), Progress::Before) = (again, place.progress) {
        again.note(registers);
    }
    true
}

/// Whether an address lies in the slot of a step.
pub(crate) fn is_step(pc: u64, arena: &Arena<Source<'_>>) -> bool {
    let entry = arena.slot_at(pc).and_then(|(number, _)| arena.entry(number).ok());
    entry.is_some_and(|entry| entry.mark & mark::STEP != 0)
}

/// What an address in a slot of an arena means.
pub(crate) fn original(
    pc: u64,
    registers: &Registers,
    arena: &Arena<Source<'_>>,
    modes: Modes,
) -> Option<ubp::arch::Place> {
    let (number, offset) = arena.slot_at(pc)?;
    let entry = arena.entry(number).ok()?;
    passing_near(&entry, arena.slot(number), registers.mode(modes)).ok()?.code().original(offset)
}

/// Whether an address lies in a slot that nothing leads into any more, and that is not of a step.
fn is_retired(pc: u64, arena: &Arena<Source<'_>>) -> bool {
    let entry = arena.slot_at(pc).and_then(|(number, _)| arena.entry(number).ok());
    entry.is_some_and(|entry| entry.state == State::Retired && entry.mark & mark::STEP == 0)
}

/// Takes all threads out of the slots of these storages, which no hit leads into any more, those too that are being made.
fn sweep(debuggee: &Debuggee, storages: &[(Storage, Entries)], only_retired: bool) {
    let mut sweep = Sweep { again: &debuggee.space().again, storages, mode: Modes::of_this_machine(), only_retired };
    // SAFETY: the callee calls `look` with this, for threads that do not run, and keeps nothing.
    unsafe { ffi::ntrace_threads_visit(debuggee.mm(), look, (&raw mut sweep).cast()) };
}

/// Frees the retired entries of a storage. Called with the space's changes locked.
#[inline(never)]
pub(crate) fn reclaim(debuggee: &Debuggee, storage: &Storage) -> Result<(), Failure> {
    let all = [(*storage, Entries::of(debuggee, storage)?)];
    wait_for_hits();
    sweep(debuggee, &all, true);
    let mut arena = debuggee.arena(storage);
    for (_, entries) in &all {
        for number in entries.numbers() {
            if entries.arena(storage).entry(number).is_ok_and(|entry| entry.state == State::Retired) {
                arena.release(number).map_err(|_| Failure::new(Status::Memory, storage.base))?;
            }
        }
    }
    arena.memory_mut().flush()?;
    debuggee.space().storages.set_retired(storage, 0);
    Ok(())
}

/// Which threads may stand in slots.
pub(crate) enum Threads<'a> {
    /// Any of the process, which runs.
    All,
    /// The one that runs here, the only one.
    This(&'a mut Registers),
}

/// Takes out all that a session has in a process: the program's bytes come back, threads leave the slots, storage is unmapped.
pub(crate) fn end(debuggee: &Debuggee, threads: Threads<'_>) {
    let space = debuggee.space();
    let owned = || space.storages.iter().filter(|storage| storage.owner == debuggee.owner);
    if owned().next().is_none() {
        return;
    }
    let _change = space.change();
    let copies = copies(debuggee, owned());
    match &copies {
        Ok(all) => all.iter().for_each(|(storage, entries)| restore(debuggee, &entries.arena(storage))),
        Err(_) => owned().for_each(|storage| restore(debuggee, &storage.arena(Source::There(debuggee, storage.base)))),
    }
    // Who came to a breakpoint before passes it yet; what was forked before finds what to take out.
    wait_for_hits();
    if let Threads::All = threads {
        sweep(debuggee, &[], false);
    }
    space.forget(debuggee.owner);
    // Without memory the slots stay, from which every thread finds out.
    if let Ok(all) = copies {
        match threads {
            Threads::All => sweep(debuggee, &all, false),
            Threads::This(registers) => {
                let modes = Modes::of_this_machine();
                for (storage, entries) in &all {
                    leave(registers, &entries.arena(storage), modes, Some(&space.again));
                }
            }
        }
        for (storage, _) in &all {
            // SAFETY: `mappings::map` mapped it, and no thread is in it.
            unsafe { ffi::ntrace_memory_unmap(debuggee.mm(), storage.base as _, storage.size() as _) };
        }
    }
}

/// Puts the program's bytes back at all sites of an arena where a breakpoint instruction stands, but those where another session
/// has a breakpoint.
#[inline(never)]
fn restore(debuggee: &Debuggee, arena: &Arena<Source<'_>>) {
    let mut patches = Patches::new(debuggee);
    for number in (0..arena.layout().capacity()).map(Number) {
        match arena.entry(number) {
            Ok(entry) if entry.state == State::Active && !debuggee.is_others(debuggee.owner, entry.site) => {
                if patches.restore(entry.site, entry.bytes()).is_err() {
                    // Without memory for more they are made one by one.
                    let _ = patches.make(|_, _| ());
                    let _ = patches.restore(entry.site, entry.bytes());
                }
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    let _ = patches.make(|_, _| ());
}

/// Makes breakpoints that a fork copied from another session's debuggee those of this one. A site that was changed while the copy was made
/// may lack its breakpoint instruction.
#[inline(never)]
pub(crate) fn inherit(debuggee: &Debuggee, from: u64) -> Result<(), Failure> {
    let space = debuggee.space();
    let _change = space.change();
    for storage in space.storages.iter().filter(|storage| storage.owner == from) {
        if debuggee.high_water(&storage).is_err() {
            // It was mapped after the copy was made, and is nobody's here.
            space.storages.give(&storage, 0);
            continue;
        }
        let entries = Entries::of(debuggee, &storage)?;
        let arena = entries.arena(&storage);
        let mut patches = Patches::new(debuggee);
        let mut page = KVVec::new();
        let mut at = u64::MAX;
        for entry in entries.numbers().filter_map(|number| arena.entry(number).ok()) {
            let inside = (entry.site % PAGE) as usize;
            if entry.state != State::Active {
                continue;
            }
            if entry.site - inside as u64 != at {
                at = entry.site - inside as u64;
                crate::device::commands::zeroes(&mut page, PAGE as usize)?;
                debuggee.read(at, &mut page)?;
            }
            if !page.get(inside..).unwrap_or_default().starts_with(&BREAKPOINT) {
                patches.set(entry.site, entry.bytes())?;
            }
        }
        patches.make(|_, _| ())?;
        space.storages.give(&storage, debuggee.owner);
    }
    Ok(())
}

fn copies(debuggee: &Debuggee, storages: impl Iterator<Item = Storage>) -> Result<KVec<(Storage, Entries)>, Failure> {
    let mut all = KVec::new();
    for storage in storages {
        let entries = Entries::of(debuggee, &storage)?;
        all.push((storage, entries), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
    }
    Ok(all)
}
