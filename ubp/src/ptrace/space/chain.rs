//! The user's breakpoints: those at one site form a chain, which begins in the site's `Info`.

use super::{Internal, SlotId, Space};
use crate::{Breakpoint, BreakpointId, InsertError, InsertReason, Method, NoJump, Result, Spec, Tid};

impl Space {
    /// Adds a breakpoint for each spec whose site is active. `refused` names the other sites, sorted.
    pub(in crate::ptrace) fn add_breakpoints(
        &mut self,
        specs: &[Spec],
        refused: &[(u64, InsertReason)],
    ) -> Vec<Result<BreakpointId, InsertError>> {
        let answers = specs.iter().map(|spec| {
            let address = spec.address;
            let reason =
                refused.binary_search_by_key(&address.0, |(site, _)| *site).ok().and_then(|at| refused.get(at));
            match (reason, self.sites.get(&address.0).copied()) {
                (None, Some(slot)) => Ok(self.add_breakpoint(spec, slot)),
                (reason, _) => {
                    let reason = reason.map_or(InsertReason::NotMapped, |(_, reason)| *reason);
                    Err(InsertError { address, reason })
                }
            }
        });
        let answers = answers.collect();
        self.has_threads |= specs.iter().any(|spec| spec.thread.is_some());
        self.flush();
        answers
    }

    fn add_breakpoint(&mut self, spec: &Spec, slot: SlotId) -> BreakpointId {
        let id = BreakpointId(self.breakpoints.len() as u32);
        let next = self.info(slot).and_then(|info| info.first);
        let method = self.method(slot);
        let (method, no_jump, since) = match self.counter_at(spec.address.0) {
            Some(counter) => (Method::Jumped, None, counter),
            None => (method, spec.no_jump().or(Some(NoJump::Asked)), 0),
        };
        let (spec, hits, arrivals, active) = (spec.clone(), 0, 0, true);
        self.breakpoints.push(Some(Breakpoint { id, spec, method, hits, arrivals, next, active, no_jump, since }));
        if let Some(info) = self.info_mut(slot) {
            info.first = Some(id);
        }
        self.change(slot, |entry| entry.references = entry.references.saturating_add(1));
        id
    }

    /// Removes breakpoints. Returns the sites, sorted, that nobody needs any more.
    pub(in crate::ptrace) fn remove_breakpoints(&mut self, ids: &[BreakpointId]) -> Vec<u64> {
        let unused = self.finish_breakpoints(ids);
        for id in ids {
            if let Some(place) = self.breakpoints.get_mut(id.0 as usize) {
                *place = None;
            }
        }
        unused
    }

    /// Takes breakpoints out of use; their counts stay. Returns the sites, sorted, that nobody needs any more.
    pub(in crate::ptrace) fn finish_breakpoints(&mut self, ids: &[BreakpointId]) -> Vec<u64> {
        let mut unused: Vec<u64> = ids.iter().filter_map(|&id| self.finish_breakpoint(id)).collect();
        unused.sort_unstable();
        unused
    }

    /// Takes a breakpoint out of its chain. Returns the site if nobody needs it any more.
    fn finish_breakpoint(&mut self, id: BreakpointId) -> Option<u64> {
        self.settle_count_of(id);
        let breakpoint = self.breakpoint_mut(id)?;
        let (site, next) = (breakpoint.spec.address.0, breakpoint.next.take());
        if !std::mem::replace(&mut breakpoint.active, false) {
            return None;
        }
        let slot = *self.sites.get(&site)?;
        let first = self.info(slot).and_then(|info| info.first);
        if first == Some(id) {
            if let Some(info) = self.info_mut(slot) {
                info.first = next;
            }
        } else {
            let mut before = first;
            while let Some(other) = before.and_then(|before| self.breakpoint_mut(before)) {
                before = other.next;
                if other.next == Some(id) {
                    other.next = next;
                    break;
                }
            }
        }
        self.change(slot, |entry| entry.references = entry.references.saturating_sub(1));
        self.is_unused(site).then_some(site)
    }

    /// Whether nobody needs an active site.
    pub(in crate::ptrace) fn is_unused(&self, site: u64) -> bool {
        let info = self.sites.get(&site).and_then(|&slot| self.info(slot));
        info.is_some_and(|info| info.first.is_none() && info.internal.is_none()) && !self.targets.contains_key(&site)
    }

    /// Whether a thread is to run to a site.
    pub(super) fn is_target(&self, site: u64) -> bool {
        self.targets.contains_key(&site)
    }

    /// Notes that one more thread is to run to an active site.
    pub(in crate::ptrace) fn add_target(&mut self, site: u64) {
        *self.targets.entry(site).or_default() += 1;
    }

    /// Notes that one thread less is to run to a site, and removes the site if nobody needs it.
    pub(in crate::ptrace) fn remove_target(&mut self, site: u64) {
        let Some(count) = self.targets.get_mut(&site) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.targets.remove(&site);
            if self.is_unused(site) {
                self.disarm_one(site);
            }
        }
    }

    /// Notes that no thread is to run anywhere: the memory is that of a new process.
    pub(in crate::ptrace) fn remove_targets(&mut self) {
        for site in std::mem::take(&mut self.targets).into_keys() {
            if self.is_unused(site) {
                self.disarm_one(site);
            }
        }
    }

    /// Takes the breakpoints of single threads out of use whose thread is not `is_there`.
    pub(in crate::ptrace) fn finish_threads(&mut self, is_there: impl Fn(Tid) -> bool) {
        if !std::mem::take(&mut self.has_threads) {
            return;
        }
        let active = self.breakpoints.iter().flatten().filter(|breakpoint| breakpoint.active);
        let (mut gone, mut has_threads) = (Vec::new(), false);
        for (id, tid) in active.filter_map(|breakpoint| Some((breakpoint.id, breakpoint.spec.thread?))) {
            if is_there(tid) {
                has_threads = true;
            } else {
                gone.push(id);
            }
        }
        self.has_threads = has_threads;
        self.finish_breakpoints(&gone).into_iter().for_each(|site| self.disarm_one(site));
    }

    /// Sets what the tracer itself has at a site.
    pub(in crate::ptrace) fn set_internal(&mut self, site: u64, internal: Option<Internal>) {
        let slot = self.sites.get(&site).copied();
        if let Some(info) = slot.and_then(|slot| self.info_mut(slot)) {
            info.internal = internal;
        }
    }
}
