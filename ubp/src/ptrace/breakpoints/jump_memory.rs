//! The memory of jumps: mirrors, trampolines and counters, mapped and unmapped by stopped threads of the debuggee.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::super::arch::PAGE;
use super::super::jumps::{Link, Need, Ring, Shape, Shared, Store};
use super::super::remote::{map_counters_at, map_storage_at, unmap, unmap_by_any};
use super::super::reports::Reports;
use super::super::space::page::Handled;
use super::super::space::{mapping_at, room};
use super::super::status;
use super::super::sys::insist;
use super::super::tracees::{SpaceId, Tracees};
use super::leads::{provide_answers, provide_link};
use super::trap_handler::install_for_jumps;
use crate::process::read_maps;
use crate::{Address, Error, Mapping, NoJump, Pid, Result, Tid};

/// The number of addresses that are tried for one store.
const PLACES: usize = 24;
/// Offset of eight bytes of zero in an arena, which are reserved (core/mod.rs).
const ZEROES: u64 = 48;

/// Whether a process of an address space outlives the tracer, if that is killed.
pub(in crate::ptrace) fn outlives(tracees: &Tracees, space: SpaceId) -> bool {
    tracees.debuggees.values().any(|debuggee| debuggee.space == space && !debuggee.exit_kill)
}

/// Maps what jumps at `sites`, which are sorted, need, by a stopped thread. Where something cannot be mapped, the sites will be refused one by
/// one. Returns a reason that is better than [`NoJump::NoRoom`].
pub(in crate::ptrace) fn provide(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    pid: Pid,
    sites: &[u64],
) -> Result<Option<NoJump>> {
    let outlives = outlives(tracees, tracees.debuggee(pid)?.space);
    let faults = tracees.space_of(pid)?.faults_of(sites);
    if outlives && faults > 0 {
        let answers = install_for_jumps(tracees, reports, pid, &[Handled::Segment, Handled::Bus])?;
        tracees.space_of_mut(pid)?.answers_faults = answers;
    }
    let maps = read_maps(pid)?;
    let mut rest = sites;
    while let Some(&first) = rest.first() {
        let Some(mapping) = mapping_at(&maps, first) else {
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        let code = Link::code_at(mapping, first);
        let (group, tail) = rest.split_at(rest.partition_point(|site| *site < code.end));
        rest = tail;
        if mapping.inode == 0 || !mapping.execute {
            continue;
        }
        let need = tracees.space_of(pid)?.need_for(group.iter().copied(), outlives);
        let provided = provide_for(tracees, reports, tid, pid, (mapping, &code), need, outlives);
        let provided = if outlives {
            provided.and_then(|()| provide_answers(tracees, reports, tid, pid, group))
        } else {
            provided
        };
        match provided {
            Err(Error::NoRoom { .. }) | Ok(()) => {}
            Err(Error::Confined(_)) => return Ok(Some(NoJump::Confined)),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Maps what jumps in a part of a mapping need.
fn provide_for(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    pid: Pid,
    (mapping, code): (&Mapping, &Range<u64>),
    need: Need,
    outlives: bool,
) -> Result<()> {
    let link = match tracees.space_of(pid)?.jumps.covering.link(code) {
        Some(link) => link,
        None => provide_link(tracees, reports, tid, pid, code, outlives)?,
    };
    let space = tracees.space_of_mut(pid)?;
    space.jumps.stores.iter_mut().for_each(|store| store.reuse());
    let reached = link.reached(code);
    if space.jumps.stores.iter().any(|store| store.serves(&reached, need)) {
        return Ok(());
    }
    let reached = link.reached_from(&read_maps(pid)?, mapping, code);
    map_store(tracees, reports, tid, pid, reached, need)
}

/// Maps trampolines and their counters, within reach of all of `reached`.
fn map_store(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    pid: Pid,
    reached: Range<u64>,
    need: Need,
) -> Result<()> {
    let (maps, heap) = (read_maps(pid)?, status::heap_start(pid)?);
    let space = tracees.space_of(pid)?;
    let (kind, name) = (space.arch, space.storages.first().map(|storage| storage.arena.base() + ZEROES));
    let sizes = Store::sizes_for(need, PAGE);
    let shape = Shape::new(tracees.options.buffer);
    let size = sizes.0 + sizes.1 + if need.records { shape.size() } else { 0 };
    let no_room = Error::NoRoom { pid, near: Address(reached.start) };
    let Some(name) = name else { return Err(no_room) };
    for start in room::candidates(&maps, heap, kind, size, reached.start, reached.end).into_iter().take(PLACES) {
        if !map_storage_at(tracees, reports, tid, (start, sizes.0), false)? {
            continue;
        }
        let counters = (start + sizes.0, sizes.1);
        let Some(file) = map_counters_at(tracees, reports, tid, counters, name, false)? else {
            unmap(tracees, reports, tid, (start, sizes.0))?;
            continue;
        };
        let Ok(rows) = map_rows(&file, sizes.1, need.sums) else {
            unmap(tracees, reports, tid, (start, sizes.0 + sizes.1))?;
            continue;
        };
        let mut ring = None;
        if need.records {
            ring = map_ring(tracees, reports, tid, counters.0 + counters.1, shape, name, false)?;
            if ring.is_none() {
                unmap(tracees, reports, tid, (start, sizes.0 + sizes.1))?;
                continue;
            }
        }
        let space = tracees.space_of_mut(pid)?;
        let head = Store::head(room::stack_end(&maps));
        if space.memory.write(start, &head) != head.len() {
            return Err(no_room);
        }
        space.jumps.stores.push(Store::new(start, sizes, file, rows, ring, reached));
        return tracees.hide_storage(pid);
    }
    Err(no_room)
}

/// Maps a new ring at an address, or in the place of another.
fn map_ring(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    at: u64,
    shape: Shape,
    name: u64,
    replaces: bool,
) -> Result<Option<Ring>> {
    let size = shape.size();
    let file = map_counters_at(tracees, reports, tid, (at, size), name, replaces)?;
    Ok(file.and_then(|file| Shared::new(&file, size as usize).ok()).map(|memory| Ring::new(memory, shape)))
}

/// Gives a forked child, which is stopped and has not run yet, counters of its own. Where that is not possible its jumps become breakpoint
/// instructions.
pub(in crate::ptrace) fn separate_counters(tracees: &mut Tracees, reports: &mut Reports, child: Pid) -> Result<()> {
    let space = tracees.space_of(child)?;
    let name = space.storages.first().map_or(0, |storage| storage.arena.base() + ZEROES);
    let ring = |store: &Store| store.ring.as_ref().map(|ring| (store.ring_at(), ring.shape));
    let mappings = space
        .jumps
        .stores
        .iter()
        .map(|store| ((store.base + store.sizes.0, store.sizes.1), ring(store), store.has_rows));
    let mappings: Vec<_> = mappings.collect();
    for (number, (counters, ring, has_rows)) in mappings.into_iter().enumerate() {
        let tid = child.leader();
        let mut mapped = match map_counters_at(tracees, reports, tid, counters, name, true) {
            Err(Error::Confined(_)) => None,
            other => other?.map(|file| (file, None)),
        };
        if let (Some((at, shape)), Some((file, _))) = (ring, mapped.take_if(|_| ring.is_some())) {
            mapped = map_ring(tracees, reports, tid, at, shape, name, true)?.map(|ring| (file, Some(ring)));
        }
        let mapped = mapped.and_then(|(file, ring)| {
            let rows = map_rows(&file, counters.1, has_rows).ok()?;
            Some((file, ring, rows))
        });
        let maps = read_maps(child)?;
        let space = tracees.space_of_mut(child)?;
        match (mapped, space.jumps.stores.get_mut(number)) {
            (Some((file, ring, rows)), Some(store)) => {
                (store.counters, store.ring, store.rows) = (file.into(), ring, rows.map(Arc::new));
            }
            _ => {
                let heads: Vec<u64> = space.jumps.sites().collect();
                let remove = || match space.remove_jumps(&maps, &heads, NoJump::NoRoom) {
                    Some(site) => Err(Error::Memory { pid: child, address: Address(site) }),
                    None => Ok(()),
                };
                insist(remove)?;
                space.clear_counts();
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Maps counters in the tracer if there are rows of sums among them.
fn map_rows(file: &File, size: u64, has_rows: bool) -> io::Result<Option<Shared>> {
    has_rows.then(|| Shared::new(file, size as usize)).transpose()
}

/// Unmaps the memory of jumps by stopped threads of the debuggee. No jump is left.
pub(in crate::ptrace) fn unmap_jumps(tracees: &mut Tracees, reports: &mut Reports, pid: Pid) -> Result<()> {
    let mappings: Vec<(u64, u64)> = tracees.space_of(pid)?.jumps.mappings().collect();
    let threads = tracees.stopped_threads(tracees.debuggee(pid)?.space);
    for (start, end) in mappings {
        unmap_by_any(tracees, reports, &threads, (start, end - start))?;
    }
    Ok(())
}
