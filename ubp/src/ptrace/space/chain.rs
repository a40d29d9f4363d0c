//! The user's breakpoints: those at one site form a chain, which begins in the site's [`Info`].

use super::{Info, Internal, SlotId, Space};
use crate::{Breakpoint, BreakpointId, InsertError, InsertReason, Result, Spec};

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
        self.flush();
        answers
    }

    fn add_breakpoint(&mut self, spec: &Spec, slot: SlotId) -> BreakpointId {
        let id = BreakpointId(self.breakpoints.len() as u32);
        let next = self.info(slot).and_then(|info| info.first);
        let method = self.method(slot);
        self.breakpoints.push(Some(Breakpoint { id, spec: *spec, method, hits: 0, arrivals: 0, next, active: true }));
        if let Some(info) = self.info_mut(slot) {
            info.first = Some(id);
        }
        self.change(slot, |entry| entry.references = entry.references.saturating_add(1));
        id
    }

    /// Removes breakpoints. Returns the sites, sorted, that nobody needs any more.
    pub(in crate::ptrace) fn remove_from_chains(&mut self, ids: &[BreakpointId]) -> Vec<u64> {
        let mut unused = Vec::new();
        for &id in ids {
            let Some(breakpoint) = self.breakpoints.get_mut(id.0 as usize).and_then(Option::take) else { continue };
            let site = breakpoint.spec.address.0;
            let Some(&slot) = self.sites.get(&site).filter(|_| breakpoint.active) else { continue };
            let first = self.info(slot).and_then(|info| info.first);
            if first == Some(id) {
                if let Some(info) = self.info_mut(slot) {
                    info.first = breakpoint.next;
                }
            } else {
                let mut before = first;
                while let Some(other) = before.and_then(|before| self.breakpoint_mut(before)) {
                    before = other.next;
                    if other.next == Some(id) {
                        other.next = breakpoint.next;
                        break;
                    }
                }
            }
            self.change(slot, |entry| entry.references = entry.references.saturating_sub(1));
            if self.info(slot).is_some_and(|info| info.first.is_none() && info.internal.is_none()) {
                unused.push(site);
            }
        }
        unused.sort_unstable();
        unused
    }

    /// Sets what the tracer itself has at a site; returns the site's information.
    pub(in crate::ptrace) fn set_internal(&mut self, site: u64, internal: Option<Internal>) -> Option<Info> {
        let slot = self.sites.get(&site).copied()?;
        let info = self.info_mut(slot)?;
        info.internal = internal;
        Some(*info)
    }
}
