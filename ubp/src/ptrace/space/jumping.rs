//! Breakpoint instructions become jumps, and jumps become breakpoint instructions, while no thread of the memory runs.

use std::ops::Range;

use super::super::jumps::{Jump, KEPT, LENGTH};
use super::adding::Work;
use super::covering::Seen;
use super::edits::Edits;
use super::{SlotId, Space, mapping_at};
use crate::arch::BREAKPOINT;
use crate::{Mapping, NoJump};

impl Space {
    /// Puts jumps at those of `sites`, which are sorted and active, that can have one. No thread of the memory runs. `outlives`: a process of the
    /// memory outlives the tracer, if that is killed.
    pub(in crate::ptrace) fn place_jumps(&mut self, maps: &[Mapping], sites: &[u64], outlives: bool) {
        let (mut seen, mut work) = (Seen::default(), Work::new());
        let mut placed = Vec::new();
        for &site in sites {
            if self.jumps.of_member(site).is_some() {
                continue;
            }
            match self.add_jump(maps, site, outlives, &mut seen, &mut work) {
                Ok(()) if outlives && !self.add_answers(site) => {
                    self.forget_jump(site, NoJump::NoRoom);
                    work.written.drop_last();
                }
                Ok(()) => placed.push(site),
                Err(reason) => self.note_no_jump(site, reason),
            }
        }
        self.flush();
        // A jump that cannot be removed stays: a thread that arrives there hits a breakpoint instruction, or is counted.
        if !work.written.write(&self.memory) {
            self.remove_jumps(maps, &placed, NoJump::NotOfFile);
        }
    }

    /// Adds a jump to the table, and what has to be written for it to `work`.
    fn add_jump(
        &mut self,
        maps: &[Mapping],
        site: u64,
        outlives: bool,
        seen: &mut Seen,
        work: &mut Work,
    ) -> Result<(), NoJump> {
        self.can_count(site, outlives)?;
        let mapping = mapping_at(maps, site).ok_or(NoJump::NotOfFile)?;
        if !mapping.execute || mapping.write || mapping.shared || mapping.inode == 0 {
            return Err(NoJump::NotOfFile);
        }
        self.add_jump_in(mapping, site, outlives, seen, work)
    }

    /// Makes breakpoint instructions of the jumps at `heads`, which are sorted. No thread of the memory runs. Where memory in `maps` cannot be
    /// accessed, all of the jumps stay, whatever was written: threads go on passing them, and the change can be asked for again. Returns the
    /// first such site.
    pub(in crate::ptrace) fn remove_jumps(&mut self, maps: &[Mapping], heads: &[u64], reason: NoJump) -> Option<u64> {
        self.read_rings();
        self.epoch += 1;
        let failed = self.put_breakpoints(maps, heads);
        if failed.is_none() {
            self.forget_jumps(heads, reason);
        }
        failed
    }

    /// Writes breakpoint instructions, and the program's bytes behind them, over the jumps at `heads`. Returns the first whose memory cannot be
    /// accessed.
    fn put_breakpoints(&self, maps: &[Mapping], heads: &[u64]) -> Option<u64> {
        let (mut traps, mut tails, mut members) = <(Edits, Edits, Edits)>::default();
        let mut touched = Vec::new();
        for &site in heads {
            let Some(jump) = self.jumps.get(site) else { continue };
            let Some(there) = self.memory.read_array::<{ LENGTH as usize }>(site) else {
                match mapping_at(maps, site) {
                    Some(_) => return Some(site),
                    None => continue,
                }
            };
            let bytes = jump.bytes();
            let ((first, rest), (head, tail)) = (there.split_at(BREAKPOINT.len()), bytes.split_at(BREAKPOINT.len()));
            if rest == tail {
                if first == head {
                    traps.push(site, &BREAKPOINT);
                }
                if !tail.is_empty() {
                    tails.push(site + head.len() as u64, jump.original().get(head.len()..).unwrap_or_default());
                }
            } else if !is_tail_of_program(jump, rest) {
                // The program has mapped something else there.
                continue;
            }
            let covered = jump.sites().filter(|member| *member != site && !jump.is_further(*member));
            covered.for_each(|member| members.push(member, &BREAKPOINT));
            touched.push(site);
        }
        // The order is that of a change while threads run, because the tracer may be killed at any moment.
        let all = [traps, tails, members].into_iter().all(|edits| edits.write(&self.memory));
        if all { None } else { touched.first().copied() }
    }

    /// Forgets the jumps in whose place the program has mapped something else.
    pub(in crate::ptrace) fn forget_replaced_jumps(&mut self) {
        let heads: Vec<u64> = self.jumps.sites().filter(|site| self.is_replaced(*site)).collect();
        heads.into_iter().for_each(|site| self.forget_jump(site, NoJump::NotOfFile));
    }

    /// Forgets jumps whose bytes are gone.
    pub(in crate::ptrace) fn forget_jumps(&mut self, heads: &[u64], reason: NoJump) {
        for &site in heads {
            self.forget_jump(site, reason);
        }
        self.jumps.stores.iter_mut().for_each(|store| store.reuse());
        self.flush();
    }

    /// Forgets a jump whose bytes are gone. Its breakpoints have their counts.
    pub(super) fn forget_jump(&mut self, site: u64, reason: NoJump) {
        let Some(jump) = self.jumps.get(site) else { return };
        let sites: Vec<u64> = jump.sites().collect();
        let answered: Vec<u64> = jump.answered().map(|(at, _)| at).collect();
        for &member in &sites {
            self.settle_counts_at(member);
        }
        self.end_sums_of(site);
        self.jumps.remove(site);
        self.remove_answers(site, &answered);
        for member in sites {
            self.note_no_jump(member, reason);
        }
    }

    /// Notes at the breakpoints of a site why no jump stands there.
    fn note_no_jump(&mut self, site: u64, reason: NoJump) {
        let Some(slot) = self.sites.get(&site).copied() else { return };
        let method = self.method(slot);
        self.change_breakpoints_at(site, |breakpoint| {
            breakpoint.method = method;
            breakpoint.no_jump = Some(reason);
        });
    }

    /// Notes at the breakpoints of sites why no jump stands there.
    pub(in crate::ptrace) fn refuse_jumps(&mut self, sites: &[u64], reason: NoJump) {
        sites.iter().for_each(|site| self.note_no_jump(*site, reason));
    }

    /// The sites with jumps that are in the way of breakpoint instructions at `sites`, which are sorted.
    pub(in crate::ptrace) fn jumps_over(&self, sites: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut heads: Vec<u64> = sites.filter_map(|site| Some(self.jumps.over(site)?.site)).collect();
        heads.dedup();
        heads
    }

    /// The sites of jumps whose trampolines were made by code in `range`.
    pub(in crate::ptrace) fn jumps_by(&self, range: Range<u64>) -> Vec<u64> {
        let made_by = |jump: &&Jump| jump.site + jump.code().len() as u64 > range.start;
        self.jumps.touching(range.clone(), KEPT as u64).filter(made_by).map(|jump| jump.site).collect()
    }

    /// The sites whose arrivals the jumps at, or over, `sites` count, without `sites` themselves. Both are sorted.
    pub(in crate::ptrace) fn others_in_jumps(&self, sites: &[u64]) -> Vec<u64> {
        let heads = self.jumps_over(sites.iter().copied());
        let all = heads.iter().filter_map(|head| self.jumps.get(*head)).flat_map(|jump| jump.sites());
        all.filter(|site| sites.binary_search(site).is_err()).collect()
    }

    /// Whether breakpoints can be added at a site without a change of what stands there: a trampoline counts its arrivals.
    pub(in crate::ptrace) fn is_jumped(&self, site: u64) -> bool {
        self.jumps.of_member(site).is_some()
    }

    /// The slot of an active site.
    pub(super) fn slot_of(&self, site: u64) -> Option<SlotId> {
        self.sites.get(&site).copied()
    }
}

/// Whether the bytes behind a site are the program's, with breakpoint instructions at the other sites of its jump.
fn is_tail_of_program(jump: &Jump, tail: &[u8]) -> bool {
    let original = jump.original().get(BREAKPOINT.len()..).unwrap_or_default();
    let is_breakpoint = |address, byte: &u8| BREAKPOINT.first() == Some(byte) && jump.member(address).is_some();
    (jump.site + BREAKPOINT.len() as u64..)
        .zip(tail.iter().zip(original))
        .all(|(address, (byte, before))| byte == before || is_breakpoint(address, byte))
}
