//! What a tracer that was killed left in a process: its arenas become ours, and its breakpoint instructions are removed.

use super::super::arch;
use super::super::breakpoints::trap_handler::is_storage;
use super::super::space::mirror::Mirror;
use super::super::space::{SlotId, Space};
use super::super::tracees::Tracees;
use crate::core::{Arena, Layout};
use crate::process::read_maps;
use crate::{Mapping, Pid, Result};

/// Takes over what there is in a process that was just attached to. Returns the entries of jumps, which stand until
/// [`Space::remove_left_jumps`].
pub(super) fn take_over(tracees: &mut Tracees, pid: Pid) -> Result<Vec<SlotId>> {
    let maps = read_maps(pid)?;
    let space = tracees.space_of_mut(pid)?;
    let code = arch::handler_code(space.arch).code;
    let is_page = |mapping: &&Mapping| {
        let mut bytes = vec![0; code.len()];
        is_storage(mapping) && space.memory.read(mapping.start.0, &mut bytes) == code.len() && bytes == code
    };
    let Some(page) = maps.iter().find(is_page).map(|mapping| mapping.start.0) else { return Ok(Vec::new()) };
    let space = tracees.space_of_mut(pid)?;
    space.trap_handler = Some(page);
    let is_left = space.is_page_left();
    for tid in tracees.threads_in(tracees.debuggee(pid)?.space) {
        tracees.thread_mut(tid)?.step_of_killed = !is_left;
    }
    let space = tracees.space_of_mut(pid)?;
    space.guarded = arch::guarded(pid);
    let mut of_jumps = Vec::new();
    for base in space.listed_arenas() {
        if let Some(mapping) = maps.iter().find(|mapping| mapping.start.0 == base && is_storage(mapping)) {
            of_jumps.extend(take_over_arena(space, mapping));
        }
    }
    let sites: Vec<u64> = space.sites.keys().copied().collect();
    space.disarm(&maps, &sites);
    space.list_arenas();
    tracees.hide_storage(pid)?;
    Ok(of_jumps)
}

/// Reads an arena that another tracer made, and returns its entries of jumps. A mapping that is no arena of this version stays mapped.
fn take_over_arena(space: &mut Space, mapping: &Mapping) -> Vec<SlotId> {
    let (base, length) = (mapping.start.0, mapping.end.0 - mapping.start.0);
    let layout = space.memory.read_array(base).and_then(|header| Layout::of_header(&header));
    let Some(layout) = layout.filter(|layout| layout.size() <= length) else { return Vec::new() };
    let mut bytes = vec![0; layout.size() as usize];
    if space.memory.read(base, &mut bytes) != bytes.len() {
        return Vec::new();
    }
    let arena = Arena::open(Mirror::of(bytes), base, layout);
    let guarded = space.is_guarded(base);
    space.add_storage(arena, guarded, None);
    space.add_sites_of_last()
}
