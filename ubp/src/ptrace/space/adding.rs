//! New jumps in the table, and what has to be written for them.

use std::ops::Range;

use super::super::jumps::{Draft, Jump, LENGTH, Member, Recording, Sum, Workbench, fixups};
use super::Space;
use super::edits::Edits;
use crate::arch::BREAKPOINT;
use crate::memory::ProcessMemory;
use crate::{Address, AggregationId, NoJump, Operand};

/// What is written for jumps, in the order of writing.
#[derive(Default)]
pub(super) struct Written {
    trampolines: Edits,
    links: Edits,
    /// The bytes of jumps behind those of a breakpoint instruction.
    tails: Edits,
    heads: Edits,
}

impl Written {
    /// Writes all. Returns whether all could be written.
    pub(super) fn write(self, memory: &ProcessMemory) -> bool {
        // At any moment of this the tracer may be killed, and the threads run.
        [self.trampolines, self.links, self.tails, self.heads].into_iter().all(|edits| edits.write(memory))
    }

    /// Drops what belongs to the last jump.
    pub(super) fn drop_last(&mut self) {
        for edits in [&mut self.trampolines, &mut self.links, &mut self.tails, &mut self.heads] {
            edits.pop();
        }
    }
}

/// What is made of the sites one after the other.
pub(super) struct Work {
    pub(super) bench: Workbench,
    pub(super) written: Written,
}

impl Work {
    pub(super) fn new() -> Work {
        Work { bench: Workbench::new(), written: Written::default() }
    }
}

impl Space {
    /// Adds the jump of a draft, which counts the arrivals at these offsets, to the table and to what is written.
    pub(super) fn write_jump(
        &mut self,
        draft: Draft,
        code: &Range<u64>,
        offsets: &[u8],
        outlives: bool,
        work: &mut Work,
    ) -> Result<(), NoJump> {
        let Work { bench, written } = work;
        let site = draft.site;
        let link = self.jumps.covering.link(code).ok_or(NoJump::NoRoom)?;
        let member_sites = || offsets.iter().map(|offset| site + u64::from(*offset));
        for at in member_sites() {
            if self.record_at(at, outlives).is_some() {
                self.recorded.add_site(at);
            }
        }
        let need = self.need_for(member_sites(), outlives);
        let reached = link.reached(code);
        let serves = self.jumps.stores.iter().position(|store| store.serves(&reached, need));
        let number = serves.ok_or(NoJump::NoRoom)?;
        let store = self.jumps.stores.get(number).ok_or(NoJump::NoRoom)?;
        let sums = member_sites().map(|at| self.sum_at(at)).collect::<Result<Vec<_>, NoJump>>()?;
        let rows = sums.iter().flatten().count();
        let mut counters = store.next_counters(offsets.len(), rows).ok_or(NoJump::NoRoom)?;
        let member = |(&offset, sum): (&u8, Option<(AggregationId, Operand)>)| {
            let at = site + u64::from(offset);
            let windows = store.windows();
            let ring = store.ring.as_ref().map(|ring| (store.ring_at(), ring.shape));
            let of_detail = |(detail, ring)| Recording { id: self.recorded.number(at), detail, ring, windows };
            let recording = self.record_at(at, outlives).zip(ring).map(of_detail);
            let counter = counters.counter();
            let sum = sum.map(|(id, value)| Sum { id, value, row: counters.row() });
            Ok(Member { offset, counter, test: self.test_at(at, store.base)?, recording, sum })
        };
        let members = offsets.iter().zip(sums).map(member).collect::<Result<Vec<Member>, NoJump>>()?;
        let trampoline = bench.make(&draft, &members, store.next())?;
        let last = offsets.last().map_or(0, |last| u64::from(*last)).max(LENGTH - 1);
        if let Some((&other, _)) = self.sites.range(site + last + 1..site + trampoline.run_len() as u64).next() {
            return Err(NoJump::TooClose(Address(other)));
        }
        let (head, lead) = (link.head(site, trampoline.at())?, link.lead(site, trampoline.at())?);
        let store = self.jumps.stores.get_mut(number).ok_or(NoJump::NoRoom)?;
        if !store.take(trampoline.len(), members.len(), rows) {
            return Err(NoJump::NoRoom);
        }
        written.trampolines.push(trampoline.at(), bench.code(&trampoline));
        if let Some((at, bytes)) = lead {
            written.links.push(at, &bytes);
        }
        let fixups = if outlives { fixups(bench, &trampoline) } else { Box::default() };
        let jump = Jump::new(draft, head, trampoline, number, members, fixups);
        let bytes = jump.bytes();
        let (head, tail) = bytes.split_at(BREAKPOINT.len());
        written.heads.push(site, head);
        if !tail.is_empty() {
            written.tails.push(site + head.len() as u64, tail);
        }
        let sites: Vec<u64> = jump.sites().collect();
        self.jumps.add(jump);
        sites.into_iter().for_each(|site| self.note_jump(site));
        Ok(())
    }

    /// Notes at the breakpoints of a site that a jump stands there.
    fn note_jump(&mut self, site: u64) {
        self.change_breakpoints_at(site, |breakpoint| {
            breakpoint.method = crate::Method::Jumped;
            breakpoint.no_jump = None;
            breakpoint.since = 0;
        });
    }
}
