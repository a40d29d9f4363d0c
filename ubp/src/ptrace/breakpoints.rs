//! Inserting and removing breakpoints.

use super::space::Internal;
use super::{Tracer, arch};
use crate::process::read_maps;
use crate::{Breakpoint, BreakpointId, Error, InsertError, InsertReason, Mapping, Pid, Result, Spec};

impl Tracer {
    pub(super) fn insert(&mut self, pid: Pid, specs: &[Spec]) -> Result<Vec<Result<BreakpointId, InsertError>>> {
        self.shown(pid)?;
        self.seize_sharers(pid)?;
        let mut sites: Vec<u64> = specs.iter().map(|spec| spec.address.0).collect();
        sites.sort_unstable();
        sites.dedup();
        let refused = self.insert_sites(pid, &sites)?;
        let space = self.space_of_mut(pid)?;
        let mut answers = Vec::with_capacity(specs.len());
        for spec in specs {
            let address = spec.address;
            let reason =
                refused.binary_search_by_key(&address.0, |(site, _)| *site).ok().and_then(|at| refused.get(at));
            let slot = space.sites.get(&address.0).copied();
            let (None, Some(slot)) = (reason, slot) else {
                let reason = reason.map_or(InsertReason::NotMapped, |(_, reason)| *reason);
                answers.push(Err(InsertError { address, reason }));
                continue;
            };
            let id = BreakpointId(space.breakpoints.len() as u32);
            let next = space.info(slot).and_then(|info| info.first);
            let method = space.method(slot);
            space.breakpoints.push(Some(Breakpoint {
                id,
                spec: *spec,
                method,
                hits: 0,
                arrivals: 0,
                next,
                active: true,
            }));
            if let Some(info) = space.info_mut(slot) {
                info.first = Some(id);
            }
            space.change(slot, |entry| entry.references = entry.references.saturating_add(1));
            answers.push(Ok(id));
        }
        space.flush();
        Ok(answers)
    }

    /// Of a process that is traced in silence the user knows nothing.
    pub(super) fn shown(&self, pid: Pid) -> Result<()> {
        self.process(pid).map(drop).ok_or(Error::NoSuchProcess(pid))
    }

    /// Makes sure that breakpoint instructions stand at `sites`, which are sorted. Returns those that cannot be, sorted.
    fn insert_sites(&mut self, pid: Pid, sites: &[u64]) -> Result<Vec<(u64, InsertReason)>> {
        let maps = read_maps(pid)?;
        let seen = self.least_seen(pid)?;
        let before = self.debuggee(pid)?.space;
        let space = self.space_of_mut(pid)?;
        // Where another mapping took the place of one with sites the old sites are of no use.
        let stale: Vec<_> = sites
            .iter()
            .filter_map(|site| Some((*site, *space.sites.get(site)?)))
            .filter(|(site, _)| !space.is_armed(*site))
            .collect();
        for (_, slot) in stale {
            space.deactivate(slot);
        }
        space.reclaim(seen);
        let new: Vec<u64> = sites.iter().copied().filter(|site| !space.sites.contains_key(site)).collect();
        if !new.is_empty() {
            space.guarded = arch::guarded(pid);
        }
        let mapped: Vec<u64> = new
            .iter()
            .copied()
            .filter(|&site| super::space::mapping_at(&maps, site).is_some_and(|mapping| mapping.execute))
            .collect();
        if !mapped.is_empty() {
            self.install_answers(pid)?;
        }
        let space = self.space_of(pid)?;
        let (mut result, mut confined) = (Ok(()), false);
        for (low, high, count) in space.missing(&mapped) {
            match self.map_arena(pid, low, high, count) {
                // The sites will be refused one by one.
                Err(Error::NoRoom { .. }) => {}
                Err(Error::Confined(_)) => confined = true,
                other => result = result.and(other),
            }
        }
        result?;
        if self.debuggee(pid)?.space != before {
            // It executed another program meanwhile.
            return Ok(new.into_iter().map(|site| (site, InsertReason::NotMapped)).collect());
        }
        let answers = self.space_of_mut(pid)?.arm(&maps, &new);
        let reason = |reason| match reason {
            InsertReason::NoRoom if confined => InsertReason::Confined,
            other => other,
        };
        Ok(new.into_iter().zip(answers).filter_map(|(site, answer)| Some((site, reason(answer.err()?)))).collect())
    }

    /// Sets sites anew that lie in guarded pages now, with slots in such. The loader guards a library by mapping it a second time, over
    /// what stood there.
    pub(super) fn follow_guards(&mut self, pid: Pid, maps: &[Mapping]) -> Result<()> {
        let guarded = arch::guarded(pid);
        let space = self.space_of_mut(pid)?;
        if guarded == space.guarded {
            return Ok(());
        }
        space.guarded = guarded;
        let moved = space.misplaced();
        let sites: Vec<u64> = moved.iter().map(|(site, _)| *site).collect();
        space.disarm(maps, &sites);
        self.insert_sites(pid, &sites)?;
        let space = self.space_of_mut(pid)?;
        for (site, info) in moved {
            space.settle(site, info);
        }
        space.flush();
        Ok(())
    }

    /// The epoch up to which every thread in the space was seen outside of slots.
    fn least_seen(&self, pid: Pid) -> Result<u64> {
        let space = self.debuggee(pid)?.space;
        let threads = self.threads.values();
        let inside = threads.filter(|t| self.debuggees.get(&t.pid).is_some_and(|debuggee| debuggee.space == space));
        Ok(inside.map(|thread| thread.seen).min().unwrap_or(0))
    }

    pub(super) fn remove(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()> {
        self.shown(pid)?;
        let space = self.space_of_mut(pid)?;
        let mut emptied = Vec::new();
        for &id in ids {
            let Some(breakpoint) = space.breakpoints.get_mut(id.0 as usize).and_then(Option::take) else { continue };
            let site = breakpoint.spec.address.0;
            let Some(&slot) = space.sites.get(&site).filter(|_| breakpoint.active) else { continue };
            // Out of the chain of those that share the site.
            let first = space.info(slot).and_then(|info| info.first);
            if first == Some(id) {
                if let Some(info) = space.info_mut(slot) {
                    info.first = breakpoint.next;
                }
            } else {
                let mut before = first;
                while let Some(other) = before.and_then(|before| space.breakpoint_mut(before)) {
                    before = other.next;
                    if other.next == Some(id) {
                        other.next = breakpoint.next;
                        break;
                    }
                }
            }
            space.change(slot, |entry| entry.references = entry.references.saturating_sub(1));
            if space.info(slot).is_some_and(|info| info.first.is_none() && info.internal.is_none()) {
                emptied.push(site);
            }
        }
        if !emptied.is_empty() {
            emptied.sort_unstable();
            let maps = read_maps(pid)?;
            self.space_of_mut(pid)?.disarm(&maps, &emptied);
        }
        Ok(())
    }

    pub(super) fn breakpoint(&self, pid: Pid, id: BreakpointId) -> Option<Breakpoint> {
        *self.all_breakpoints(pid).get(id.0 as usize)?
    }

    pub(super) fn breakpoints(&self, pid: Pid) -> impl Iterator<Item = Breakpoint> {
        self.all_breakpoints(pid).iter().flatten().copied()
    }

    fn all_breakpoints(&self, pid: Pid) -> &[Option<Breakpoint>] {
        match self.space_of(pid) {
            Ok(space) => &space.breakpoints,
            Err(_) => self.ended.get(&pid).map(Vec::as_slice).unwrap_or_default(),
        }
    }

    /// Puts a breakpoint of the tracer's own at `site`; where it cannot stand, none is.
    pub(super) fn insert_internal(&mut self, pid: Pid, site: u64, internal: Internal) -> Result<()> {
        if self.insert_sites(pid, &[site])?.is_empty() {
            let space = self.space_of_mut(pid)?;
            if let Some(info) = space.sites.get(&site).copied().and_then(|slot| space.info_mut(slot)) {
                info.internal = Some(internal);
            }
        }
        Ok(())
    }

    pub(super) fn remove_internal(&mut self, pid: Pid, site: u64) -> Result<()> {
        let maps = read_maps(pid)?;
        let space = self.space_of_mut(pid)?;
        if let Some(info) = space.sites.get(&site).copied().and_then(|slot| space.info_mut(slot)) {
            info.internal = None;
            if info.first.is_none() {
                space.disarm(&maps, &[site]);
            }
        }
        Ok(())
    }
}
