//! Sites: where breakpoint instructions stand.

use super::super::arch;
use super::super::reports::Reports;
use super::super::space::{Internal, mapping_at};
use super::super::tracees::Tracees;
use super::arenas::map_arena;
use super::trap_handler::install_everywhere;
use crate::process::read_maps;
use crate::{Error, InsertReason, Mapping, Pid, Result, Tid};

/// Sites that are about to be inserted in one address space.
pub(in crate::ptrace) struct Insertion {
    maps: Vec<Mapping>,
    /// The sites, sorted, that are not active yet.
    new: Vec<u64>,
    /// Those of them that lie in code.
    pub(in crate::ptrace) mapped: Vec<u64>,
}

/// Prepares the insertion of `sites`, which are sorted: frees slots that no thread is in, and finds the sites that are new.
pub(in crate::ptrace) fn prepare_insertion(tracees: &mut Tracees, pid: Pid, sites: &[u64]) -> Result<Insertion> {
    let maps = read_maps(pid)?;
    let seen = tracees.least_seen(pid)?;
    let space = tracees.space_of_mut(pid)?;
    // Old sites are of no use where another mapping took the place of theirs.
    let stale: Vec<_> = sites
        .iter()
        .filter_map(|site| Some((*site, *space.sites.get(site)?)))
        .filter(|(site, _)| mapping_at(&maps, *site).is_none() || space.is_replaced(*site))
        .collect();
    for (_, slot) in stale {
        space.deactivate(slot);
    }
    space.reclaim(seen);
    let new: Vec<u64> = sites.iter().copied().filter(|site| !space.sites.contains_key(site)).collect();
    if !new.is_empty() {
        space.guarded = arch::guarded(pid);
    }
    let is_code = |site: &u64| mapping_at(&maps, *site).is_some_and(|mapping| mapping.execute);
    let mapped = new.iter().copied().filter(is_code).collect();
    Ok(Insertion { maps, new, mapped })
}

impl Insertion {
    /// The groups of sites that need an arena: the lowest and the highest site, and their number.
    pub(in crate::ptrace) fn missing_arenas(&self, tracees: &Tracees, pid: Pid) -> Result<Vec<(u64, u64, u32)>> {
        Ok(tracees.space_of(pid)?.missing(&self.mapped))
    }

    /// The answer where the process has executed another program meanwhile: no site could be inserted.
    pub(in crate::ptrace) fn refuse_all(self) -> Vec<(u64, InsertReason)> {
        self.new.into_iter().map(|site| (site, InsertReason::NotMapped)).collect()
    }

    /// Inserts the sites. The stopped thread `by` maps arenas where some are missing. Returns the refused sites, sorted.
    pub(in crate::ptrace) fn insert_sites(
        self,
        tracees: &mut Tracees,
        reports: &mut Reports,
        pid: Pid,
        by: Option<Tid>,
    ) -> Result<Vec<(u64, InsertReason)>> {
        if !self.mapped.is_empty() {
            install_everywhere(tracees, reports, pid)?;
        }
        let (mut result, mut confined) = (Ok(()), false);
        for group in self.missing_arenas(tracees, pid)? {
            let Some(tid) = by else { continue };
            match map_arena(tracees, reports, tid, pid, group) {
                // The sites will be refused one by one.
                Err(Error::NoRoom { .. }) => {}
                Err(Error::Confined(_)) => confined = true,
                other => result = result.and(other),
            }
        }
        result?;
        let answers = tracees.space_of_mut(pid)?.arm(&self.maps, &self.new);
        let reason = |reason| match reason {
            InsertReason::NoRoom if confined => InsertReason::Confined,
            other => other,
        };
        Ok(self.new.into_iter().zip(answers).filter_map(|(site, answer)| Some((site, reason(answer.err()?)))).collect())
    }
}

/// Makes sure that breakpoint instructions stand at `sites`, which are sorted. The stopped thread `by` maps arenas where some
/// are missing. Returns the refused sites, sorted.
fn insert_by(tracees: &mut Tracees, reports: &mut Reports, by: Tid, sites: &[u64]) -> Result<Vec<(u64, InsertReason)>> {
    let pid = tracees.thread(by)?.pid;
    let insertion = prepare_insertion(tracees, pid, sites)?;
    insertion.insert_sites(tracees, reports, pid, Some(by))
}

/// Moves the sites whose pages became guarded, or are not any more, to slots in such pages. The loader guards a library by
/// mapping it a second time, over the first mapping.
pub(in crate::ptrace) fn follow_guards(
    tracees: &mut Tracees,
    reports: &mut Reports,
    by: Tid,
    maps: &[Mapping],
) -> Result<()> {
    let pid = tracees.thread(by)?.pid;
    let guarded = arch::guarded(pid);
    let space = tracees.space_of_mut(pid)?;
    if guarded == space.guarded {
        return Ok(());
    }
    space.guarded = guarded;
    space.forget_replaced_jumps();
    let moved = space.misplaced();
    let sites: Vec<u64> = moved.iter().map(|(site, _)| *site).collect();
    space.disarm(maps, &sites);
    insert_by(tracees, reports, by, &sites)?;
    let space = tracees.space_of_mut(pid)?;
    for (site, info) in moved {
        space.restore_breakpoints(site, info);
    }
    space.flush();
    Ok(())
}

/// Inserts a breakpoint of the tracer's own by a stopped thread. A site that is refused stays without.
pub(in crate::ptrace) fn insert_internal_by(
    tracees: &mut Tracees,
    reports: &mut Reports,
    by: Tid,
    site: u64,
    internal: Internal,
) -> Result<()> {
    let refused = insert_by(tracees, reports, by, &[site])?;
    if refused.is_empty() {
        let pid = tracees.thread(by)?.pid;
        tracees.space_of_mut(pid)?.set_internal(site, Some(internal));
    }
    Ok(())
}

/// Removes a breakpoint of the tracer's own.
pub(in crate::ptrace) fn remove_internal(tracees: &mut Tracees, pid: Pid, site: u64) -> Result<()> {
    let maps = read_maps(pid)?;
    let space = tracees.space_of_mut(pid)?;
    space.set_internal(site, None);
    if space.is_unused(site) {
        space.disarm(&maps, &[site]);
    }
    Ok(())
}
