// SPDX-License-Identifier: GPL-2.0

//! Taking threads out of slots, and breakpoints out of a process.

use fastpath::arch::PAGE;
use fastpath::{Modes, Registers, Storage};
use kernel::ffi::c_void;
use kernel::prelude::*;
use ubp::arch::BREAKPOINT;
use ubp::core::{Arena, Number, State};
use wire::{Failure, Status};

use crate::breakpoints::patch::Patches;
use crate::breakpoints::slot::{is_retired, leave, Entries, Source};
use crate::breakpoints::table::Breakpoints;
use crate::ffi;
use crate::mm::atomic::wait_for_hits;
use crate::mm::interrupted_hits::InterruptedHits;
use crate::vec::zeroes;

/// What `look` does with each thread.
struct Sweep<'a> {
    interrupted: &'a InterruptedHits,
    storages: &'a [(Storage, Entries)],
    modes: Modes,
    /// Whether threads leave retired slots only. A thread in another slot has been counted and goes on there, and so does the thread of a
    /// step.
    only_retired: bool,
}

/// Takes a thread out of its slot. Unless `done`, the registers are a copy, and nothing else is changed.
///
/// # Safety
/// `data` points to a `Sweep`, and nobody else uses `registers`.
unsafe extern "C" fn look(registers: *mut Registers, data: *mut c_void, done: bool) {
    // SAFETY: the caller vouches for both pointers.
    let (sweep, registers) = unsafe { (&*data.cast::<Sweep<'_>>(), &*registers) };
    for (storage, entries) in sweep.storages {
        if sweep.only_retired && !is_retired(registers.pc(), &entries.arena(storage)) {
            continue;
        }
        leave(registers, &entries.arena(storage), sweep.modes, done.then_some(sweep.interrupted));
    }
}

/// Takes all threads out of the slots of `storages`, which no hit enters any more. Includes threads that are being created. Returns
/// whether no thread is left in a slot.
fn sweep(breakpoints: &Breakpoints<'_>, storages: &[(Storage, Entries)], only_retired: bool) -> bool {
    let interrupted = &breakpoints.space.interrupted;
    let mut sweep = Sweep { interrupted, storages, modes: Modes::of_this_machine(), only_retired };
    // SAFETY: the function calls `look` with `sweep` and with registers that nobody else uses meanwhile, and keeps neither pointer.
    unsafe { ffi::ntrace_threads_visit(breakpoints.memory.mm(), look, (&raw mut sweep).cast()) }
}

/// Releases the retired entries of a storage. Fails where a thread does not come back from the kernel. The caller holds a change of the
/// space.
#[inline(never)]
pub(crate) fn reclaim(breakpoints: &Breakpoints<'_>, storage: &Storage) -> Result<(), Failure> {
    let all = [(*storage, Entries::of(breakpoints, storage)?)];
    wait_for_hits();
    if !sweep(breakpoints, &all, true) {
        return Err(Status::Limit.into());
    }
    let mut arena = breakpoints.arena(storage);
    for (_, entries) in &all {
        for number in entries.numbers() {
            if entries.arena(storage).entry(number).is_ok_and(|entry| entry.state == State::Retired) {
                arena.release(number).map_err(|_| Failure::new(Status::Memory, storage.base))?;
            }
        }
    }
    arena.memory_mut().flush()?;
    breakpoints.space.storages.set_retired(storage, 0);
    Ok(())
}

/// Which threads may be in slots.
pub(crate) enum Threads<'a> {
    /// All threads of the process, which run.
    All,
    /// The current thread, which is the process' only one.
    This(&'a Registers),
}

/// Removes all breakpoints of an attachment: restores the program's bytes, takes threads out of slots, and unmaps the storages.
pub(crate) fn end(breakpoints: &Breakpoints<'_>, threads: Threads<'_>) {
    let space = breakpoints.space;
    let owned = || space.storages.iter().filter(|storage| storage.owner == breakpoints.attachment);
    if owned().next().is_none() {
        return;
    }
    // A thread that is killed leaves the storages to the end of its memory.
    let Ok(_change) = space.change() else { return };
    let copies = copies(breakpoints, owned());
    match &copies {
        Ok(all) => all.iter().for_each(|(storage, entries)| restore(breakpoints, &entries.arena(storage))),
        Err(_) => owned().for_each(|storage| {
            restore(breakpoints, &storage.arena(Source::There(breakpoints.memory, storage.base)));
        }),
    }
    // Hits that began before find their entries until here, and children that were forked before find the storages.
    wait_for_hits();
    if let Threads::All = threads {
        // The visit also waits for children that are being created.
        sweep(breakpoints, &[], false);
    }
    space.close(breakpoints.attachment);
    let left = match (&copies, threads) {
        (Ok(all), Threads::All) => sweep(breakpoints, all, false),
        (Ok(all), Threads::This(registers)) => {
            let modes = Modes::of_this_machine();
            for (storage, entries) in all {
                leave(registers, &entries.arena(storage), modes, Some(&space.interrupted));
            }
            true
        }
        (Err(_), _) => false,
    };
    space.forget(breakpoints.attachment);
    // If a thread may be in a slot, the slots stay mapped, and the thread leaves by itself.
    if let (Ok(all), true) = (copies, left) {
        for (storage, _) in &all {
            let (base, size) = (storage.base, storage.size());
            // SAFETY: `mappings::map` mapped these addresses, no hit finds the storage, and no thread is in its slots.
            unsafe { ffi::ntrace_memory_unmap(breakpoints.memory.mm(), base as _, size as _) };
        }
    }
}

/// Restores the program's bytes at all sites of an arena that have a breakpoint instruction, except where another attachment has a
/// breakpoint.
#[inline(never)]
fn restore(breakpoints: &Breakpoints<'_>, arena: &Arena<Source<'_>>) {
    let mut patches = Patches::new(breakpoints.memory);
    for number in (0..arena.layout().capacity()).map(Number) {
        match arena.entry(number) {
            Ok(entry) if entry.state == State::Active && !breakpoints.is_shared(entry.site) => {
                if patches.restore(entry.site, entry.bytes()).is_err() {
                    // Without memory for more patches each is made at once.
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

/// Gives this attachment the breakpoints that a fork copied from the attachment `from`. A site that changed while the memory was copied may
/// lack its breakpoint instruction, which is set here.
#[inline(never)]
pub(crate) fn inherit(breakpoints: &Breakpoints<'_>, from: u64) -> Result<(), Failure> {
    let (space, memory) = (breakpoints.space, breakpoints.memory);
    let _change = space.change()?;
    for storage in space.storages.iter().filter(|storage| storage.owner == from) {
        if breakpoints.high_water(&storage).is_err() {
            // The parent mapped the storage after its memory was copied, so the copy lacks it.
            space.storages.give(&storage, 0);
            continue;
        }
        let entries = Entries::of(breakpoints, &storage)?;
        let arena = entries.arena(&storage);
        let mut patches = Patches::new(memory);
        let mut page = KVVec::new();
        let mut at = u64::MAX;
        for entry in entries.numbers().filter_map(|number| arena.entry(number).ok()) {
            let inside = (entry.site % PAGE) as usize;
            if entry.state != State::Active {
                continue;
            }
            if entry.site - inside as u64 != at {
                at = entry.site - inside as u64;
                zeroes(&mut page, PAGE as usize)?;
                memory.read(at, &mut page)?;
            }
            if !page.get(inside..).unwrap_or_default().starts_with(&BREAKPOINT) {
                patches.set(entry.site, entry.bytes())?;
            }
        }
        patches.make(|_, _| ())?;
        space.storages.give(&storage, breakpoints.attachment);
    }
    Ok(())
}

fn copies(
    breakpoints: &Breakpoints<'_>,
    storages: impl Iterator<Item = Storage>,
) -> Result<KVec<(Storage, Entries)>, Failure> {
    let mut all = KVec::new();
    for storage in storages {
        let entries = Entries::of(breakpoints, &storage)?;
        all.push((storage, entries), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
    }
    Ok(all)
}
