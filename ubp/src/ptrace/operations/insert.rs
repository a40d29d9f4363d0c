//! Breakpoints, inserted and removed by threads that are stopped for that where it is necessary.

use super::super::Tracer;
use super::super::breakpoints::arenas::map_arena;
use super::super::breakpoints::sites::{Insertion, prepare_insertion};
use super::super::breakpoints::trap_handler::{can_install, processes_without_handler};
use super::super::space::Internal;
use super::super::stopping::Pinned;
use crate::process::read_maps;
use crate::{Breakpoint, BreakpointId, InsertError, InsertReason, Pid, Result, Spec, Tid};

impl Tracer {
    pub(in crate::ptrace) fn insert_breakpoints(
        &mut self,
        pid: Pid,
        specs: &[Spec],
    ) -> Result<Vec<Result<BreakpointId, InsertError>>> {
        self.tracees.shown_process(pid)?;
        self.seize_sharers(pid)?;
        let mut sites: Vec<u64> = specs.iter().map(|spec| spec.address.0).collect();
        sites.sort_unstable();
        sites.dedup();
        let refused = self.insert_all(pid, &sites)?;
        Ok(self.tracees.space_of_mut(pid)?.add_breakpoints(specs, &refused))
    }

    /// Makes sure that breakpoint instructions stand at `sites`, which are sorted. Returns the refused sites, sorted.
    pub(in crate::ptrace) fn insert_all(&mut self, pid: Pid, sites: &[u64]) -> Result<Vec<(u64, InsertReason)>> {
        let before = self.tracees.debuggee(pid)?.space;
        let insertion = prepare_insertion(&mut self.tracees, pid, sites)?;
        let mut pinned = Vec::new();
        let answer = self.pin_for(pid, &insertion, &mut pinned).and_then(|worker| {
            if self.tracees.debuggee(pid)?.space != before {
                // The process has executed another program meanwhile.
                return Ok(insertion.refuse_all());
            }
            insertion.insert_sites(&mut self.tracees, &mut self.reports, pid, worker)
        });
        // In reverse order: a thread that is pinned twice continues at the end of its first use.
        let unpinned = pinned.into_iter().rev().try_for_each(|pinned| self.release_pinned(pinned));
        answer.and_then(|refused| unpinned.map(|()| refused))
    }

    /// Stops and pins the threads that an insertion needs: one in each process without the handler of `SIGTRAP`, and one that
    /// maps arenas where some are missing, which is returned.
    fn pin_for(&mut self, pid: Pid, insertion: &Insertion, pinned: &mut Vec<Pinned>) -> Result<Option<Tid>> {
        if !insertion.mapped.is_empty() {
            for other in processes_without_handler(&self.tracees, pid)? {
                // A process whose threads all wait in `vfork` gets the handler later.
                pinned.extend(self.pin_one_of(other, |thread| can_install(thread, other)));
            }
        }
        if insertion.missing_arenas(&self.tracees, pid)?.is_empty() {
            return Ok(None);
        }
        let worker = self.pin_any(pid)?;
        pinned.push(worker);
        Ok(Some(worker.tid))
    }

    /// Inserts a breakpoint of the tracer's own. A site that is refused stays without.
    pub(in crate::ptrace) fn insert_internal(&mut self, pid: Pid, site: u64, internal: Internal) -> Result<()> {
        if self.insert_all(pid, &[site])?.is_empty() {
            self.tracees.space_of_mut(pid)?.set_internal(site, Some(internal));
        }
        Ok(())
    }

    /// Maps an arena near an address.
    pub(in crate::ptrace) fn add_arena_near(&mut self, pid: Pid, address: u64) -> Result<()> {
        let worker = self.pin_any(pid)?;
        let result = map_arena(&mut self.tracees, &mut self.reports, worker.tid, pid, (address, address, 1));
        self.release_pinned(worker)?;
        result
    }

    pub(in crate::ptrace) fn remove_breakpoints(&mut self, pid: Pid, ids: &[BreakpointId]) -> Result<()> {
        self.tracees.shown_process(pid)?;
        let maps = read_maps(pid)?;
        let space = self.tracees.space_of_mut(pid)?;
        let unused = space.remove_breakpoints(ids);
        if !unused.is_empty() {
            space.disarm(&maps, &unused);
        }
        Ok(())
    }

    /// The breakpoints of a process by their ids, also of one whose end the user has not seen.
    pub(in crate::ptrace) fn breakpoints_of(&self, pid: Pid) -> &[Option<Breakpoint>] {
        match self.tracees.space_of(pid) {
            Ok(space) => &space.breakpoints,
            Err(_) => self.events.breakpoints_of_ended(pid),
        }
    }
}
