//! Breakpoints, inserted and removed by threads that are stopped for that where it is necessary.

use std::collections::BTreeSet;

use super::super::Tracer;
use super::super::breakpoints::arenas::map_arena;
use super::super::breakpoints::sites::{Insertion, prepare_insertion};
use super::super::breakpoints::trap_handler::{can_install, processes_without_handler};
use super::super::space::Internal;
use super::super::stopping::Pinned;
use crate::process::read_maps;
use crate::{Breakpoint, BreakpointId, Error, InsertError, InsertReason, NoJump, Pid, Result, Spec, Tid};

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
        // A trampoline that counts the arrivals at a site serves one more breakpoint that counts them.
        let space = self.tracees.space_of(pid)?;
        let changes = |spec: &&Spec| spec.no_jump().is_some() || spec.condition.is_some() || spec.acts();
        let stays = |spec: &&Spec| !changes(spec) && space.is_jumped(spec.address.0);
        let mut staying: Vec<u64> = specs.iter().filter(stays).map(|spec| spec.address.0).collect();
        let changed: BTreeSet<u64> = specs.iter().filter(changes).map(|spec| spec.address.0).collect();
        staying.sort_unstable();
        staying.retain(|site| !changed.contains(site));
        let new: Vec<u64> = sites.iter().copied().filter(|site| staying.binary_search(site).is_err()).collect();
        let shared = space.others_in_jumps(&new);
        let refused = self.insert_all(pid, &new)?;
        for id in specs.iter().filter_map(|spec| spec.aggregation) {
            if let Some(value) = self.tracees.sums.value(id) {
                self.tracees.space_of_mut(pid)?.note_aggregation(id, value);
            }
        }
        let mut answers = self.tracees.space_of_mut(pid)?.add_breakpoints(specs, &refused);
        self.jump_where_asked(pid, specs, &shared, &mut answers)?;
        Ok(answers)
    }

    /// Makes sure that breakpoint instructions stand at `sites`, which are sorted. Returns the refused sites, sorted.
    pub(in crate::ptrace) fn insert_all(&mut self, pid: Pid, sites: &[u64]) -> Result<Vec<(u64, InsertReason)>> {
        if !self.clear_jumps(pid, sites, NoJump::Tracer)? {
            return Err(Error::Uninterruptible(pid.leader()));
        }
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
        let space = self.tracees.space_of_mut(pid)?;
        let mut changed = space.tested_at(ids);
        let unused = space.remove_breakpoints(ids);
        changed.extend(&unused);
        changed.sort_unstable();
        changed.dedup();
        // A site whose jump cannot be removed stays, and counts for nobody.
        let mut shared = space.others_in_jumps(&changed);
        shared.extend(changed.iter().filter(|site| unused.binary_search(site).is_err()));
        shared.sort_unstable();
        match self.clear_jumps(pid, &changed, NoJump::Asked) {
            Ok(_) | Err(Error::Memory { .. }) => (),
            Err(error) => return Err(error),
        }
        if !unused.is_empty() {
            let maps = read_maps(pid)?;
            self.tracees.space_of_mut(pid)?.disarm(&maps, &unused);
        }
        self.place_jumps(pid, &shared)
    }

    /// A breakpoint of a process with its present counts, also of one whose end the user has not seen.
    pub(in crate::ptrace) fn breakpoint_of(&self, pid: Pid, id: BreakpointId) -> Option<Breakpoint> {
        match self.tracees.space_of(pid) {
            Ok(space) => space.breakpoint(id),
            Err(_) => self.events.breakpoints_of_ended(pid).get(id.0 as usize)?.clone(),
        }
    }

    /// All breakpoints of a process with their present counts, also of one whose end the user has not seen.
    pub(in crate::ptrace) fn breakpoints_of(&self, pid: Pid) -> Box<dyn Iterator<Item = Breakpoint> + '_> {
        match self.tracees.space_of(pid) {
            Ok(space) => Box::new(space.all_breakpoints()),
            Err(_) => Box::new(self.events.breakpoints_of_ended(pid).iter().flatten().cloned()),
        }
    }
}
