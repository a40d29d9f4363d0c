//! What a trampoline does at a site.

use super::super::arch::can_record;
use super::super::jumps::{ANSWERED, Detail, Need, ONLY_COUNTS, Test};
use super::Space;
use crate::record::ARGUMENTS;
use crate::{Address, Breakpoint, BreakpointId, NoJump};

/// Text at all arguments ([`Spec::text`](crate::Spec::text)).
const ALL_ARGUMENTS: u8 = (1 << ARGUMENTS) - 1;

impl Space {
    /// Whether a trampoline can count the arrivals at a site for all its breakpoints.
    pub(super) fn can_count(&self, site: u64, outlives: bool) -> Result<(), NoJump> {
        let slot = *self.sites.get(&site).ok_or(NoJump::NotOfFile)?;
        let info = self.info(slot).unwrap_or_default();
        if info.internal.is_some() || self.is_target(site) {
            return Err(NoJump::Tracer);
        }
        if outlives && ANSWERED && !(info.boosted || info.whole) {
            return Err(NoJump::NeedsTracer(Address(site)));
        }
        if let Some(reason) = self.breakpoints_at(site).find_map(|breakpoint| breakpoint.spec.no_jump()) {
            return Err(reason);
        }
        if self.asks_for_more(site) {
            return Err(NoJump::OnlyCounts);
        }
        self.sum_at(site)?;
        let reads_memory = self.test_at(site, 0)?.is_some_and(|test| test.reads() > 0);
        match info.first {
            None => Err(NoJump::Asked),
            // Where memory cannot be read, the tracer or a handler decides.
            Some(_)
                if outlives
                    && !self.answers_faults
                    && (reads_memory || self.breakpoints_at(site).any(|b| b.spec.text != 0 || b.spec.stack)) =>
            {
                Err(NoJump::Memory)
            }
            Some(_) => self.can_record_at(site),
        }
    }

    /// Whether a breakpoint at a site asks for more than a count where trampolines only count.
    pub(in crate::ptrace) fn asks_for_more(&self, site: u64) -> bool {
        let specs = || self.breakpoints_at(site).map(|breakpoint| &breakpoint.spec);
        ONLY_COUNTS && specs().any(|spec| spec.condition.is_some() || spec.records_all())
    }

    /// Whether a trampoline can record the arrivals at a site, if that is wanted.
    fn can_record_at(&self, site: u64) -> Result<(), NoJump> {
        let records = || self.breakpoints_at(site).map(|breakpoint| breakpoint.spec.records_all());
        if !records().any(|records| records) {
            Ok(())
        } else if !records().all(|records| records) {
            Err(NoJump::Records)
        } else if !can_record() {
            Err(NoJump::Processor)
        } else if self.recorded.is_full() {
            Err(NoJump::NoRoom)
        } else {
            Ok(())
        }
    }

    /// What a trampoline records of the arrivals at a site.
    pub(super) fn record_at(&self, site: u64, outlives: bool) -> Option<Detail> {
        let specs = self.breakpoints_at(site).map(|breakpoint| &breakpoint.spec).filter(|spec| spec.records_all());
        specs.fold(None, |detail, spec| {
            let Detail { text, stack, .. } = detail.unwrap_or_default();
            Some(Detail {
                text: text | spec.text & ALL_ARGUMENTS,
                caller: !outlives || self.answers_faults,
                stack: stack || spec.stack,
            })
        })
    }

    /// The most instructions of trampolines that read the program's memory for these sites.
    pub(in crate::ptrace) fn faults_of(&self, sites: &[u64]) -> usize {
        let of_site = |site: &u64| {
            let of_test = self.test_at(*site, 0).ok().flatten().map_or(0, |test| test.reads());
            let of_record = self.record_at(*site, false).map_or(0, |detail| detail.reads());
            of_test + of_record
        };
        sites.iter().map(of_site).sum()
    }

    /// The test by which a trampoline stops threads at a site.
    pub(super) fn test_at(&self, site: u64, window: u64) -> Result<Option<Test>, NoJump> {
        Test::new(self.breakpoints_at(site).filter_map(|breakpoint| breakpoint.spec.condition.as_ref()), window)
    }

    /// The sites with a jump whose test or sum depends on one of these breakpoints.
    pub(in crate::ptrace) fn tested_at(&self, ids: &[BreakpointId]) -> Vec<u64> {
        let breakpoints = ids.iter().filter_map(|id| self.breakpoints.get(id.0 as usize)?.as_ref());
        let tested = breakpoints.filter(|breakpoint| {
            let spec = &breakpoint.spec;
            breakpoint.active && (spec.condition.is_some() || spec.aggregation.is_some())
        });
        tested.map(|breakpoint| breakpoint.spec.address.0).filter(|site| self.is_jumped(*site)).collect()
    }

    /// The room that jumps at sites need.
    pub(in crate::ptrace) fn need_for(&self, sites: impl Iterator<Item = u64>, outlives: bool) -> Need {
        let mut need = Need::default();
        sites.for_each(|site| {
            need.add(
                self.test_at(site, 0).ok().flatten().as_ref(),
                self.record_at(site, outlives),
                self.sum_at(site).is_ok_and(|sum| sum.is_some()),
            );
        });
        need
    }

    /// The breakpoints at a site.
    pub(super) fn breakpoints_at(&self, site: u64) -> impl Iterator<Item = &Breakpoint> {
        let first = self.slot_of(site).and_then(|slot| self.info(slot)).and_then(|info| info.first);
        let get = |id: BreakpointId| self.breakpoints.get(id.0 as usize)?.as_ref();
        std::iter::successors(first.and_then(get), move |breakpoint| breakpoint.next.and_then(get))
    }
}
