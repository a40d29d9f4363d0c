//! The counts of breakpoints that trampolines count.

use super::Space;
use crate::ptrace::jumps::{Jump, Member};
use crate::{Breakpoint, BreakpointId};

impl Space {
    /// Changes each breakpoint at a site.
    pub(super) fn change_breakpoints_at(&mut self, site: u64, change: impl Fn(&mut Breakpoint)) {
        let mut next = self.slot_of(site).and_then(|slot| self.info(slot)).and_then(|info| info.first);
        while let Some(breakpoint) = next.and_then(|id| self.breakpoint_mut(id)) {
            change(breakpoint);
            next = breakpoint.next;
        }
    }

    /// The counter of a site; `None` if no trampoline counts its arrivals.
    pub(super) fn counter_at(&self, site: u64) -> Option<u64> {
        let jump = self.jumps.of_member(site)?;
        Some(self.jumps.stores.get(jump.store)?.count(jump.member(site)?))
    }

    /// Adds what a trampoline has counted to the breakpoints of a site. The trampoline counts no more, and its counter is not used again.
    pub(super) fn settle_counts_at(&mut self, site: u64) {
        let Some(counter) = self.counter_at(site) else { return };
        self.change_breakpoints_at(site, |breakpoint| breakpoint.add_counter(counter));
    }

    /// Adds what trampolines have counted to all breakpoints: the memory is about to go.
    pub(in crate::ptrace) fn settle_counts(&mut self) {
        let counts: Vec<Vec<u8>> = self.jumps.stores.iter().map(|store| store.all_counts()).collect();
        let of = |jump: &Jump, member: &Member| {
            let counter = self.jumps.stores.get(jump.store)?.count_in(counts.get(jump.store)?, member);
            Some((jump.site + u64::from(member.offset), counter))
        };
        let all = self.jumps.iter().flat_map(|jump| jump.members.iter().filter_map(move |member| of(jump, member)));
        let all: Vec<(u64, u64)> = all.collect();
        for (site, counter) in all {
            self.change_breakpoints_at(site, |breakpoint| breakpoint.add_counter(counter));
        }
    }

    /// Adds what a trampoline has counted to one breakpoint, which is about to go.
    pub(super) fn settle_count_of(&mut self, id: BreakpointId) {
        let Some(site) = self.breakpoint_mut(id).filter(|breakpoint| breakpoint.active).map(|b| b.spec.address.0)
        else {
            return;
        };
        let counter = self.counter_at(site);
        if let (Some(counter), Some(breakpoint)) = (counter, self.breakpoint_mut(id)) {
            breakpoint.add_counter(counter);
        }
    }

    /// Takes back an arrival that a trampoline has counted, at the site of a thread that arrives there once more.
    pub(in crate::ptrace) fn uncount(&mut self, site: u64) {
        self.change_breakpoints_at(site, |breakpoint| breakpoint.count(1_u64.wrapping_neg()));
    }

    /// Lets all breakpoints begin at zero.
    pub(in crate::ptrace) fn clear_counts(&mut self) {
        for breakpoint in self.breakpoints.iter_mut().flatten() {
            (breakpoint.hits, breakpoint.arrivals, breakpoint.since) = (0, 0, 0);
        }
    }

    /// Counts an arrival in the place of a trampoline.
    pub(in crate::ptrace) fn count_once(&mut self, site: u64) {
        self.change_breakpoints_at(site, |breakpoint| breakpoint.count(1));
    }

    /// A breakpoint with its present counts.
    pub(in crate::ptrace) fn breakpoint(&self, id: BreakpointId) -> Option<Breakpoint> {
        let breakpoint = self.breakpoints.get(id.0 as usize)?.as_ref()?;
        let counter = if breakpoint.active { self.counter_at(breakpoint.spec.address.0) } else { None };
        Some(counter.map_or_else(|| breakpoint.clone(), |counter| breakpoint.with_counter(counter)))
    }

    /// All breakpoints with their present counts.
    pub(in crate::ptrace) fn all_breakpoints(&self) -> impl Iterator<Item = Breakpoint> + '_ {
        let counts: Vec<Vec<u8>> = self.jumps.stores.iter().map(|store| store.all_counts()).collect();
        let counter = move |breakpoint: &Breakpoint| {
            let jump = self.jumps.of_member(breakpoint.spec.address.0).filter(|_| breakpoint.active)?;
            let member = jump.member(breakpoint.spec.address.0)?;
            Some(self.jumps.stores.get(jump.store)?.count_in(counts.get(jump.store)?, member))
        };
        self.breakpoints.iter().flatten().map(move |breakpoint| match counter(breakpoint) {
            Some(counter) => breakpoint.with_counter(counter),
            None => breakpoint.clone(),
        })
    }
}
