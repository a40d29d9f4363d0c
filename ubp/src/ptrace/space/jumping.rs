//! Breakpoint instructions become jumps, and jumps become breakpoint instructions, while no thread of the memory runs.

use std::ops::Range;

use super::super::arch::{can_record, jump_mode, may_have_shadow_stacks};
use super::super::jumps::{
    Detail, Draft, Found, Jump, KEPT, LENGTH, LOOK, Member, Need, Recording, Sweep, Test, Window, Workbench, scan,
};
use super::edits::Edits;
use super::{SlotId, Space, mapping_at};
use crate::arch::BREAKPOINT;
use crate::record::ARGUMENTS;
use crate::{Address, Breakpoint, BreakpointId, Mapping, NoJump};

/// Text at all arguments ([`Spec::text`](crate::Spec::text)).
const ALL_ARGUMENTS: u8 = (1 << ARGUMENTS) - 1;
/// Bytes of code that are read at once.
const PIECE: u64 = 64 << 10;

/// The program's code in one mapping, read in pieces.
#[derive(Default)]
struct Reader {
    start: u64,
    code: Vec<u8>,
}

impl Reader {
    /// The code from `site` on, up to [`LOOK`] bytes and the end of the mapping.
    fn window(&mut self, space: &Space, mapping: &Mapping, site: u64) -> &[u8] {
        let end = (site + LOOK as u64).min(mapping.end.0);
        let known = self.start..self.start + self.code.len() as u64;
        if site < known.start || end > known.end {
            self.start = site;
            self.code = vec![0; (mapping.end.0 - site).min(PIECE) as usize];
            let read = space.read(site, &mut self.code);
            self.code.truncate(read);
        }
        let offset = (site - self.start) as usize;
        self.code.get(offset..self.code.len().min(offset + LOOK)).unwrap_or_default()
    }
}

/// What is written for jumps, in the order of writing.
#[derive(Default)]
struct Written {
    trampolines: Edits,
    mirrors: Edits,
    tails: Edits,
    heads: Edits,
}

impl Written {
    /// Drops what belongs to the last jump.
    fn drop_last(&mut self) {
        for edits in [&mut self.trampolines, &mut self.mirrors, &mut self.tails, &mut self.heads] {
            edits.pop();
        }
    }
}

/// What is made of the sites one after the other.
struct Work {
    bench: Workbench,
    reader: Reader,
    sweep: Sweep,
    written: Written,
}

impl Space {
    /// Puts jumps at those of `sites`, which are sorted and active, that can have one. No thread of the memory runs. `outlives`: a process of the
    /// memory outlives the tracer, if that is killed.
    pub(in crate::ptrace) fn place_jumps(&mut self, maps: &[Mapping], sites: &[u64], outlives: bool) {
        let (reader, sweep, written) = Default::default();
        let mut work = Work { bench: Workbench::new(), reader, sweep, written };
        let mut placed = Vec::new();
        for &site in sites {
            if self.jumps.of_member(site).is_some() {
                continue;
            }
            match self.add_jump(maps, site, outlives, &mut work) {
                Ok(()) if outlives && !self.add_answers(site) => {
                    self.forget_jump(site, NoJump::NoRoom);
                    work.written.drop_last();
                }
                Ok(()) => placed.push(site),
                Err(reason) => self.note_no_jump(site, reason),
            }
        }
        self.flush();
        let Written { trampolines, mirrors, tails, heads } = work.written;
        let memory = &self.memory;
        // At any moment of this the tracer may be killed, and the threads run.
        let written = trampolines.write(memory) && mirrors.write(memory) && tails.write(memory) && heads.write(memory);
        // A jump that cannot be removed stays: a thread that arrives there hits a breakpoint instruction, or is counted.
        if !written {
            self.remove_jumps(maps, &placed, NoJump::NotOfFile);
        }
    }

    /// Adds a jump to the table, and what has to be written for it to `work`.
    fn add_jump(&mut self, maps: &[Mapping], site: u64, outlives: bool, work: &mut Work) -> Result<(), NoJump> {
        let Work { bench, reader, sweep, written } = work;
        self.can_count(site, outlives)?;
        let mode = jump_mode(self.arch, self.mode).ok_or(NoJump::Architecture)?;
        let mapping = mapping_at(maps, site).ok_or(NoJump::NotOfFile)?;
        if !mapping.execute || mapping.write || mapping.shared || mapping.inode == 0 {
            return Err(NoJump::NotOfFile);
        }
        if mapping.end.0 - site < LENGTH {
            return Err(NoJump::End);
        }
        let window = Window { site, code: reader.window(self, mapping, site), mode };
        let found = scan(&window, sweep, self.jumps.all_entered())?;
        let draft = Draft { site, code: window.kept().into(), mode, shadow_stack: may_have_shadow_stacks() };
        let code = mapping.start.0..mapping.end.0;
        let covered = self.covered_members(site, &found, outlives)?;
        let further = self.further_members(site, &found, outlives);
        if !further.is_empty() {
            let all: Vec<u8> = covered.iter().copied().chain(further).collect();
            if self.write_jump(draft.clone(), &code, &all, outlives, bench, written).is_ok() {
                return Ok(());
            }
        }
        self.write_jump(draft, &code, &covered, outlives, bench, written)
    }

    /// Adds the jump of a draft, which counts the arrivals at these offsets, to the table and to what is written.
    fn write_jump(
        &mut self,
        draft: Draft,
        code: &Range<u64>,
        offsets: &[u8],
        outlives: bool,
        bench: &mut Workbench,
        written: &mut Written,
    ) -> Result<(), NoJump> {
        let site = draft.site;
        let mirror = self.jumps.mirrors.iter().find(|mirror| mirror.serves(code)).ok_or(NoJump::NoRoom)?.clone();
        let member_sites = || offsets.iter().map(|offset| site + u64::from(*offset));
        for at in member_sites() {
            if self.record_at(at, outlives).is_some() {
                self.recorded.add_site(at);
            }
        }
        let need = self.need_for(member_sites(), outlives);
        let serves = self.jumps.stores.iter().position(|store| store.serves(code, &mirror.range, need));
        let number = serves.ok_or(NoJump::NoRoom)?;
        let store = self.jumps.stores.get(number).ok_or(NoJump::NoRoom)?;
        let counters = store.next_counters(offsets.len()).ok_or(NoJump::NoRoom)?;
        let member = |(&offset, counter): (&u8, u64)| {
            let at = site + u64::from(offset);
            let windows = store.windows();
            let ring = store.ring.as_ref().map(|ring| (store.ring_at(), ring.shape));
            let of_detail = |(detail, ring)| Recording { id: self.recorded.number(at), detail, ring, windows };
            let recording = self.record_at(at, outlives).zip(ring).map(of_detail);
            Ok(Member { offset, counter, test: self.test_at(at, store.base)?, recording })
        };
        let members = offsets.iter().zip(counters).map(member).collect::<Result<Vec<Member>, NoJump>>()?;
        let trampoline = bench.make(&draft, &members, store.next()).map_err(NoJump::Trampoline)?;
        let last = offsets.last().map_or(0, |last| u64::from(*last)).max(LENGTH - 1);
        if let Some((&other, _)) = self.sites.range(site + last + 1..site + trampoline.run_len() as u64).next() {
            return Err(NoJump::TooClose(Address(other)));
        }
        let (at, mirrored) = mirror.jump(site, trampoline.at()).ok_or(NoJump::NoRoom)?;
        let store = self.jumps.stores.get_mut(number).ok_or(NoJump::NoRoom)?;
        if !store.take(trampoline.len(), members.len()) {
            return Err(NoJump::NoRoom);
        }
        written.trampolines.push(trampoline.at(), bench.code(&trampoline));
        written.mirrors.push(at, &mirrored);
        let fixups = if outlives { bench.fixups(&trampoline) } else { Box::default() };
        let jump = Jump::new(draft, mirror.displacement, trampoline, number, members, fixups);
        let [head, tail @ ..] = jump.bytes();
        written.heads.push(site, &[head]);
        written.tails.push(site + 1, &tail);
        let sites: Vec<u64> = jump.sites().collect();
        self.jumps.add(jump);
        sites.into_iter().for_each(|site| self.note_jump(site));
        Ok(())
    }

    /// Whether a trampoline can count the arrivals at a site for all its breakpoints.
    fn can_count(&self, site: u64, outlives: bool) -> Result<(), NoJump> {
        let slot = *self.sites.get(&site).ok_or(NoJump::NotOfFile)?;
        let info = self.info(slot).unwrap_or_default();
        if info.internal.is_some() || self.is_target(site) {
            return Err(NoJump::Tracer);
        }
        if outlives && !(info.boosted || info.whole) {
            return Err(NoJump::NeedsTracer(Address(site)));
        }
        if let Some(reason) = self.breakpoints_at(site).find_map(|breakpoint| breakpoint.spec.no_jump()) {
            return Err(reason);
        }
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
    fn record_at(&self, site: u64, outlives: bool) -> Option<Detail> {
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
    fn test_at(&self, site: u64, window: u64) -> Result<Option<Test>, NoJump> {
        Test::new(self.breakpoints_at(site).filter_map(|breakpoint| breakpoint.spec.condition.as_ref()), window)
    }

    /// The sites with a jump whose test depends on one of these breakpoints.
    pub(in crate::ptrace) fn tested_at(&self, ids: &[BreakpointId]) -> Vec<u64> {
        let breakpoints = ids.iter().filter_map(|id| self.breakpoints.get(id.0 as usize)?.as_ref());
        let tested = breakpoints.filter(|breakpoint| breakpoint.active && breakpoint.spec.condition.is_some());
        tested.map(|breakpoint| breakpoint.spec.address.0).filter(|site| self.is_jumped(*site)).collect()
    }

    /// The room that jumps at sites need.
    pub(in crate::ptrace) fn need_for(&self, sites: impl Iterator<Item = u64>, outlives: bool) -> Need {
        let mut need = Need::default();
        sites.for_each(|site| {
            need.add(self.test_at(site, 0).ok().flatten().as_ref(), self.record_at(site, outlives));
        });
        need
    }

    /// The breakpoints at a site.
    fn breakpoints_at(&self, site: u64) -> impl Iterator<Item = &Breakpoint> {
        let first = self.slot_of(site).and_then(|slot| self.info(slot)).and_then(|info| info.first);
        let get = |id: BreakpointId| self.breakpoints.get(id.0 as usize)?.as_ref();
        std::iter::successors(first.and_then(get), move |breakpoint| breakpoint.next.and_then(get))
    }

    /// The offset of a jump at `site`, and those of the sites among its bytes.
    fn covered_members(&self, site: u64, found: &Found, outlives: bool) -> Result<Vec<u8>, NoJump> {
        let mut offsets = vec![0];
        for (&other, _) in self.sites.range(site + 1..site + LENGTH) {
            let offset = (other - site) as u8;
            if !found.covered.contains(&offset) || !self.can_be_member(other, outlives) {
                return Err(NoJump::TooClose(Address(other)));
            }
            offsets.push(offset);
        }
        Ok(offsets)
    }

    /// The offsets of the sites behind the bytes of a jump at `site`, as long as each instruction there has one.
    fn further_members(&self, site: u64, found: &Found, outlives: bool) -> Vec<u8> {
        let is_member = |offset: &u8| self.can_be_member(site + u64::from(*offset), outlives);
        found.further.iter().copied().take_while(is_member).collect()
    }

    /// Whether the trampoline of a jump before a site can count the arrivals there.
    fn can_be_member(&self, site: u64, outlives: bool) -> bool {
        self.jumps.of_member(site).is_none() && self.can_count(site, outlives).is_ok()
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
            let Some([first, rest @ ..]) = self.memory.read_array::<{ LENGTH as usize }>(site) else {
                match mapping_at(maps, site) {
                    Some(_) => return Some(site),
                    None => continue,
                }
            };
            let [head, tail @ ..] = jump.bytes();
            if rest == tail {
                if first == head {
                    traps.push(site, &BREAKPOINT);
                }
                tails.push(site + 1, jump.original().get(1..).unwrap_or_default());
            } else if !is_tail_of_program(jump, &rest) {
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
        self.jumps.remove(site);
        self.remove_answers(site, &answered);
        for member in sites {
            self.note_no_jump(member, reason);
        }
    }

    /// Notes at the breakpoints of a site that a jump stands there.
    fn note_jump(&mut self, site: u64) {
        self.change_breakpoints_at(site, |breakpoint| {
            breakpoint.method = crate::Method::Jumped;
            breakpoint.no_jump = None;
            breakpoint.since = 0;
        });
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
    let original = jump.original().get(1..).unwrap_or_default();
    let is_breakpoint = |address, byte: &u8| BREAKPOINT.first() == Some(byte) && jump.member(address).is_some();
    (jump.site + 1..)
        .zip(tail.iter().zip(original))
        .all(|(address, (byte, before))| byte == before || is_breakpoint(address, byte))
}
