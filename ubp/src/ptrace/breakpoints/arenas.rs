//! Arenas: mapped and unmapped by stopped threads of the debuggee.

use std::ops::Range;

use super::super::arch;
use super::super::remote::{map_storage_at, unmap_by_any};
use super::super::reports::Reports;
use super::super::space::mirror::Mirror;
use super::super::space::{mapping_at, room};
use super::super::status;
use super::super::tracees::Tracees;
use crate::core::{Arena, Layout};
use crate::process::read_maps;
use crate::{Address, Error, Pid, Result, Tid};

/// The number of addresses that are tried for one arena.
const PLACES: usize = 24;

/// Maps an arena for `count` sites in `low..=high` by a stopped thread.
pub(in crate::ptrace) fn map_arena(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    pid: Pid,
    (low, high, count): (u64, u64, u32),
) -> Result<()> {
    let space = tracees.space_of(pid)?;
    let kind = space.arch;
    let layout = Layout::new(space.capacity_for(count));
    let size = layout.size().next_multiple_of(arch::PAGE);
    let maps = read_maps(pid)?;
    let heap = status::heap_start(pid)?;
    // Near the whole module, because operands may name all of it.
    let whole = mapping_at(&maps, low).zip(mapping_at(&maps, high));
    let (from, to) = whole.map_or((low, high), |(first, last)| (first.start.0, last.end.0));
    let mut candidates = room::candidates(&maps, heap, kind, size, from, to);
    candidates.extend(room::candidates(&maps, heap, kind, size, low, high));
    candidates.truncate(PLACES);
    if arch::FAR {
        candidates.extend(room::anywhere(&maps, heap, kind, size, low, high).into_iter().take(PLACES));
    }
    let guarded = space.is_guarded(low);
    for start in candidates {
        if map_storage_at(tracees, reports, tid, (start, size), guarded)? {
            let is_far = !arch::reaches(kind, start, start + size, low, high);
            return add_arena(tracees, pid, start, layout, guarded, is_far.then_some(low..high + 1));
        }
    }
    Err(Error::NoRoom { pid, near: Address(low) })
}

fn add_arena(
    tracees: &mut Tracees,
    pid: Pid,
    base: u64,
    layout: Layout,
    guarded: bool,
    far: Option<Range<u64>>,
) -> Result<()> {
    let space = tracees.space_of_mut(pid)?;
    let machine =
        crate::arch::MACHINES.iter().find(|known| known.2 == space.arch).map_or(0, |known| u32::from(known.1));
    let mirror = Mirror::new(layout.size());
    let arena = Arena::create(mirror, base, layout, machine, arch::gate(space.arch))
        .map_err(|_| Error::NoRoom { pid, near: Address(base) })?;
    space.add_storage(arena, guarded, far);
    space.flush();
    space.list_arenas();
    tracees.hide_storage(pid)
}

/// Maps the storage that a forked child lacks, because its parent's was mapped while the kernel copied the memory. The child is
/// stopped and has not run yet. Where `differs`, sites changed meanwhile, and the child gets the parent's. Where something else
/// lies in the place of the storage, the child has no breakpoints.
pub(in crate::ptrace) fn complete_storage(
    tracees: &mut Tracees,
    reports: &mut Reports,
    child: Pid,
    differs: bool,
) -> Result<()> {
    let maps = read_maps(child)?;
    let space = tracees.space_of(child)?;
    let all = space.hidden().into_iter().zip(space.storages.iter().map(|storage| storage.guarded));
    let lacking: Vec<((u64, u64), bool)> = all.filter(|((start, _), _)| mapping_at(&maps, *start).is_none()).collect();
    let mut is_complete = true;
    for &((start, end), guarded) in &lacking {
        is_complete &= map_storage_at(tracees, reports, child.leader(), (start, end - start), guarded)?;
    }
    let space = tracees.space_of_mut(child)?;
    if !is_complete {
        space.abandon(&maps);
        return Ok(());
    }
    if differs || !lacking.is_empty() {
        space.rearm();
    }
    // The copy of the page may be older than the copy of the text.
    space.complete_list();
    Ok(())
}

/// Unmaps the arenas by stopped threads of the debuggee.
pub(in crate::ptrace) fn unmap_arenas(tracees: &mut Tracees, reports: &mut Reports, pid: Pid) -> Result<()> {
    let space = tracees.space_of(pid)?;
    let gate = arch::gate(space.arch);
    // A child lacks an arena that was mapped after the kernel copied the memory.
    let is_there = |at: u64| space.memory.read_array(at) == Some(gate);
    let gates = space.storages.iter().map(|storage| storage.arena.gate());
    let arenas: Vec<(u64, u64)> =
        space.hidden().into_iter().zip(gates).filter(|(_, gate)| is_there(*gate)).map(|(range, _)| range).collect();
    let threads = tracees.stopped_threads(tracees.debuggee(pid)?.space);
    // The first arena holds the gate, so it goes last.
    for (start, end) in arenas.into_iter().rev() {
        unmap_by_any(tracees, reports, &threads, (start, end - start))?;
    }
    Ok(())
}
