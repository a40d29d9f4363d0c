//! Mirrors, and the entries for bytes that jumps cover.

use std::ops::Range;

use trampoline::x86::Trap;

use super::arenas::map_arena;
use super::trap_handler::install_for_jumps;
use crate::core::place::{GROWTH, LOWEST};
use crate::core::{Area, Use};
use crate::process::read_maps;
use crate::ptrace::arch::{PAGE, end};
use crate::ptrace::jumps::code::displacement::displacements;
use crate::ptrace::jumps::{LENGTH, Link};
use crate::ptrace::remote::map_storage_at;
use crate::ptrace::reports::Reports;
use crate::ptrace::space::page::Handled;
use crate::ptrace::space::room;
use crate::ptrace::status;
use crate::ptrace::tracees::Tracees;
use crate::{Address, Arch, Error, Mapping, Pid, Result, Tid};

/// The entries for a jump: the bytes that it covers, and one more for the instruction of its trampoline that stops threads.
const ENTRIES: Range<u64> = 1..LENGTH + 1;

/// Maps the mirror of code.
pub(super) fn provide_link(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    pid: Pid,
    code: &Range<u64>,
    outlives: bool,
) -> Result<Link> {
    let (maps, heap) = (read_maps(pid)?, status::heap_start(pid)?);
    let kind = tracees.space_of(pid)?.arch;
    for last in [Trap::Breakpoint, Trap::Undefined] {
        let mirrors = displacements(last).filter_map(|displacement| Link::new(code.clone(), displacement, PAGE));
        let free: Vec<Link> = mirrors.filter(|mirror| is_free(&maps, heap, kind, &mirror.range)).collect();
        // Without the tracer, nobody but a handler answers the byte.
        if free.is_empty()
            || last == Trap::Undefined && outlives && !install_for_jumps(tracees, reports, pid, &[Handled::Undefined])?
        {
            continue;
        }
        for mirror in free {
            let Range { start, end } = mirror.range;
            if map_storage_at(tracees, reports, tid, (start, end - start), false)? {
                tracees.space_of_mut(pid)?.jumps.covering.mirrors.push(mirror.clone());
                tracees.hide_storage(pid)?;
                return Ok(mirror);
            }
        }
    }
    Err(Error::NoRoom { pid, near: Address(code.start) })
}

/// Whether a mapping at `range`, in whole pages, would lie where nothing lies, and clear of where the heap and stacks grow.
fn is_free(maps: &[Mapping], heap: u64, arch: Arch, range: &Range<u64>) -> bool {
    let is_clear = |area: Area| {
        let start = area.start.saturating_sub(if area.usage == Use::Stack { GROWTH } else { PAGE });
        let behind = area.end.saturating_add(if area.usage == Use::Heap { GROWTH } else { PAGE });
        range.end <= start || range.start >= behind
    };
    range.start >= LOWEST && range.end <= end(arch) && room::areas(maps, heap).all(is_clear)
}

/// Maps arenas for the entries of covered bytes, and of code that reads memory.
pub(super) fn provide_answers(
    tracees: &mut Tracees,
    reports: &mut Reports,
    tid: Tid,
    pid: Pid,
    sites: &[u64],
) -> Result<()> {
    let mut covered: Vec<u64> = sites.iter().flat_map(|site| ENTRIES.map(move |offset| site + offset)).collect();
    covered.sort_unstable();
    covered.dedup();
    let space = tracees.space_of(pid)?;
    if space.answers_faults {
        covered.extend(sites.iter().flat_map(|site| std::iter::repeat_n(*site, space.faults_of(&[*site]))));
        covered.sort_unstable();
    }
    for group in space.missing(&covered) {
        map_arena(tracees, reports, tid, pid, group)?;
    }
    Ok(())
}
