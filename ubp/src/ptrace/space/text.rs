//! Breakpoint instructions in the program's text.

use super::super::arch::GRANULE;
use super::view::{Mark, mark};
use super::{Info, SlotId, Space, mapping_at};
use crate::arch::{ALIGNMENT, BREAKPOINT, MARGIN, MAX_LEN, refusal};
use crate::core::{Entry, Problem, State, prepare_whole};
use crate::{InsertReason, Mapping, NoJump, Result};

/// Sites farther apart than this are written apart.
const FAR: u64 = 512;
/// The longest piece of text that is read and written at once.
const PIECE: u64 = 64 << 10;

/// A piece of text in which sites change.
struct Run {
    start: u64,
    raw: Vec<u8>,
    /// The offsets of the sites, and their new bytes.
    edits: Vec<(usize, Mark)>,
    /// The program may write to the piece at the same time.
    writable: bool,
}

/// The number of the first `sites`, at least one, that lie close together in `mapping`.
fn neighbours(mapping: &Mapping, sites: &[u64]) -> usize {
    let first = sites.first().copied().unwrap_or(0);
    let mut last = first;
    let near = sites.iter().take_while(|&&site| {
        let near = site - last < FAR && site - first < PIECE && site < mapping.end.0;
        last = if near { site } else { last };
        near
    });
    near.count().max(1)
}

impl Space {
    /// Puts breakpoint instructions at `sites`, which are sorted, not active, and within reach of storage.
    pub(in crate::ptrace) fn arm(&mut self, maps: &[Mapping], sites: &[u64]) -> Vec<Result<(), InsertReason>> {
        self.epoch += 1;
        let mut answers = Vec::with_capacity(sites.len());
        let mut runs: Vec<(Run, Vec<(usize, SlotId)>)> = Vec::new();
        let mut rest = sites;
        while let Some(&first) = rest.first() {
            let Some(mapping) = mapping_at(maps, first) else {
                answers.push(Err(InsertReason::NotMapped));
                rest = rest.get(1..).unwrap_or(&[]);
                continue;
            };
            if !mapping.execute {
                answers.push(Err(InsertReason::NotExecutable));
                rest = rest.get(1..).unwrap_or(&[]);
                continue;
            }
            let (group, tail) = rest.split_at(neighbours(mapping, rest));
            rest = tail;
            let (mut run, clean) = self.run_over(mapping, group);
            let mut owners = Vec::new();
            for &site in group {
                let offset = (site - run.start) as usize;
                let answer = match clean.get(offset..).filter(|bytes| !bytes.is_empty()) {
                    _ if site.checked_rem(ALIGNMENT) != Some(0) => Err(InsertReason::Misaligned),
                    None => Err(InsertReason::NotWritable),
                    Some(bytes) => match refusal(&clean, offset, site) {
                        Some(refusal) => Err(InsertReason::Refused(refusal)),
                        None => self.add_site(site, bytes.get(..MAX_LEN).unwrap_or(bytes)),
                    },
                };
                if let Ok(slot) = answer {
                    run.edits.push((offset, BREAKPOINT));
                    owners.push((answers.len(), slot));
                }
                answers.push(answer.map(drop));
            }
            runs.push((run, owners));
        }
        // A thread that arrives runs what its slot has.
        let can_run = self.flush();
        for (run, owners) in runs {
            if !can_run || !self.write_run(run) {
                for (at, slot) in owners {
                    self.retire(slot);
                    if let Some(answer) = answers.get_mut(at) {
                        *answer = Err(InsertReason::NotWritable);
                    }
                }
            }
        }
        answers
    }

    /// Adds one site to the table, with its slot.
    pub(super) fn add_site(&mut self, site: u64, bytes: &[u8]) -> Result<SlotId, InsertReason> {
        let retired = self.find(site).filter(|(slot, entry)| {
            let suits = || self.storages.get(slot.arena).is_some_and(|storage| self.suits(storage, site));
            entry.state == State::Retired && entry.mark == 0 && bytes.starts_with(entry.bytes()) && suits()
        });
        if let Some((slot, _)) = retired {
            // The slot is still right, also for threads that are in it.
            self.retired.remove(&slot);
            self.change(slot, |entry| {
                entry.state = State::Active;
                entry.references = 0;
            });
            self.sites.insert(site, slot);
            return Ok(slot);
        }
        let arena = self.storage_for(site).ok_or(InsertReason::NoRoom)?;
        let mode = self.mode;
        let storage = self.storages.get_mut(arena).ok_or(InsertReason::NoRoom)?;
        let number = storage.arena.next_number().map_err(|_| InsertReason::NoRoom)?;
        let (passing, length) =
            prepare_whole(bytes, site, storage.arena.slot(number), mode).map_err(|problem| match problem {
                Problem::NotAnInstruction(error) => InsertReason::NotAnInstruction(error),
                Problem::Refused(refusal) => InsertReason::Refused(refusal),
            })?;
        let mut entry = Entry::new(site, bytes.get(..length).unwrap_or(bytes));
        entry.references = 0;
        let number = storage.arena.insert(&entry, &passing.code().bytes).map_err(|_| InsertReason::NoRoom)?;
        if let Some(info) = storage.info.get_mut(number.0 as usize) {
            *info = Info::of(&passing);
        }
        let slot = SlotId { arena, number };
        self.sites.insert(site, slot);
        self.has_calls |= self.calls(slot);
        Ok(slot)
    }

    /// Puts the original bytes back at `sites`, which are sorted, and takes the sites out of use. A site of a jump that could not become a
    /// breakpoint instruction stays, and so does one whose memory cannot be accessed: threads go on passing it. Returns the first of the latter.
    pub(in crate::ptrace) fn disarm(&mut self, maps: &[Mapping], sites: &[u64]) -> Option<u64> {
        self.epoch += 1;
        let sites: Vec<u64> = sites.iter().copied().filter(|site| !self.is_jumped(*site)).collect();
        let (runs, mut doubtful) = self.restoring_runs(maps, &sites);
        for run in runs {
            let edited: Vec<u64> = run.edits.iter().map(|(offset, _)| run.start + *offset as u64).collect();
            if !self.write_run(run) {
                doubtful.extend(edited);
            }
        }
        doubtful.retain(|site| !self.is_replaced(*site));
        doubtful.sort_unstable();
        for site in &sites {
            if let Some(&slot) = self.sites.get(site).filter(|_| doubtful.binary_search(site).is_err()) {
                self.retire(slot);
            }
        }
        self.flush();
        doubtful.first().copied()
    }

    /// Puts the original bytes back at one site, and takes the site out of use unless its memory cannot be accessed. It does not look at the
    /// memory map: where something else is mapped since, our instruction is gone.
    pub(in crate::ptrace) fn disarm_one(&mut self, site: u64) {
        let Some(slot) = self.sites.get(&site).copied().filter(|_| !self.is_jumped(site)) else { return };
        self.epoch += 1;
        let original = self.entry(slot).and_then(|entry| mark(entry.bytes()));
        if let Some(original) = original.filter(|_| self.is_armed(site)) {
            self.memory.write(site, &original);
        }
        if self.is_replaced(site) {
            self.retire(slot);
        }
        self.flush();
    }

    /// The memory around neighbouring sites of one mapping, as it is and as the program knows it.
    fn run_over(&self, mapping: &Mapping, sites: &[u64]) -> (Run, Vec<u8>) {
        let first = sites.first().copied().unwrap_or(0);
        let last = sites.last().copied().unwrap_or(first);
        let start = first.saturating_sub(MARGIN).max(mapping.start.0);
        let mut raw = vec![0; (last - start + MARGIN) as usize + MAX_LEN];
        let read = self.memory.read(start, &mut raw);
        raw.truncate(read);
        let mut clean = raw.clone();
        self.clean(start, &mut clean);
        (Run { start, raw, edits: Vec::new(), writable: mapping.write || mapping.shared }, clean)
    }

    /// What puts the original bytes back at sites, and the sites in mapped memory that could not be read.
    fn restoring_runs(&self, maps: &[Mapping], sites: &[u64]) -> (Vec<Run>, Vec<u64>) {
        let (mut runs, mut unread) = (Vec::new(), Vec::new());
        let mut rest = sites;
        while let Some(&first) = rest.first() {
            let Some(mapping) = mapping_at(maps, first) else {
                rest = rest.get(1..).unwrap_or(&[]);
                continue;
            };
            let (group, tail) = rest.split_at(neighbours(mapping, rest));
            rest = tail;
            let (mut run, clean) = self.run_over(mapping, group);
            for &site in group {
                let offset = (site - run.start) as usize;
                let Some(entry) = self.sites.get(&site).and_then(|&slot| self.entry(slot)) else { continue };
                if run.raw.len() < offset + BREAKPOINT.len() {
                    unread.push(site);
                    continue;
                }
                // Where our instruction is gone the program has mapped something else since.
                let ours = run.raw.get(offset..).is_some_and(|raw| raw.starts_with(&BREAKPOINT))
                    && clean.get(offset..).is_some_and(|bytes| bytes.starts_with(entry.bytes()));
                if let (true, Some(original)) = (ours, mark(entry.bytes())) {
                    run.edits.push((offset, original));
                }
            }
            runs.push(run);
        }
        (runs, unread)
    }

    fn write_run(&self, mut run: Run) -> bool {
        let (Some(&(first, _)), Some(&(last, _))) = (run.edits.first(), run.edits.last()) else { return true };
        if run.writable {
            return run.edits.iter().all(|(at, mark)| self.memory.write(run.start + *at as u64, mark) == mark.len());
        }
        for (at, mark) in &run.edits {
            if let Some(place) = run.raw.get_mut(*at..*at + mark.len()) {
                place.copy_from_slice(mark);
            }
        }
        let (start, end) = (run.start + first as u64, run.start + (last + BREAKPOINT.len()) as u64);
        let start = (start / GRANULE * GRANULE).max(run.start);
        let end = end.next_multiple_of(GRANULE).min(run.start + run.raw.len() as u64);
        let Some(piece) = run.raw.get((start - run.start) as usize..(end - run.start) as usize) else { return false };
        self.memory.write(start, piece) == piece.len()
    }

    /// Takes sites out of use whose code is gone from `maps`, or was replaced.
    pub(in crate::ptrace) fn drop_unmapped(&mut self, maps: &[Mapping]) {
        let gone: Vec<(u64, SlotId)> = self
            .sites
            .iter()
            .filter(|&(&site, _)| {
                mapping_at(maps, site).is_none_or(|mapping| !mapping.execute) || self.is_replaced(site)
            })
            .map(|(&site, &slot)| (site, slot))
            .collect();
        if gone.is_empty() {
            return;
        }
        self.epoch += 1;
        for (_, slot) in gone {
            self.deactivate(slot);
        }
        self.flush();
    }

    /// Takes all sites and all storage out of use, because the process has something else where the storage lies. The
    /// breakpoints stay, inactive.
    pub(in crate::ptrace) fn abandon(&mut self, maps: &[Mapping]) {
        let heads: Vec<u64> = self.jumps.sites().collect();
        if self.remove_jumps(maps, &heads, NoJump::NoRoom).is_some() {
            self.forget_jumps(&heads, NoJump::NoRoom);
        }
        let sites: Vec<(u64, SlotId)> = self.sites.iter().map(|(&site, &slot)| (site, slot)).collect();
        let addresses: Vec<u64> = sites.iter().map(|(site, _)| *site).collect();
        for run in self.restoring_runs(maps, &addresses).0 {
            let _ = self.write_run(run);
        }
        sites.into_iter().for_each(|(_, slot)| self.deactivate(slot));
        self.storages.clear();
        self.retired.clear();
        self.list_arenas();
    }

    /// Makes the memory of a forked child agree with the table: the parent's sites may have changed while the kernel copied
    /// the memory.
    pub(in crate::ptrace) fn rearm(&mut self) {
        for storage in &mut self.storages {
            let size = storage.arena.layout().size();
            let base = storage.arena.base();
            let mut all = vec![0; size as usize];
            if crate::core::Memory::read(storage.arena.memory(), 0, &mut all).is_ok() {
                self.memory.write(base, &all);
            }
        }
        self.restore_retired();
        for entry in self.sites.values().filter_map(|&slot| self.entry(slot)) {
            if self.jumps.of_member(entry.site).is_some_and(|jump| !jump.is_further(entry.site)) {
                // Jumps come and go only while no thread makes a process.
                continue;
            }
            if self.memory.read_array(entry.site) == mark(entry.bytes()) {
                self.memory.write(entry.site, &BREAKPOINT);
            }
        }
    }

    /// Puts the original bytes back at former sites, where a copy of the memory still has breakpoint instructions, and jumps whose bytes these may
    /// be.
    pub(in crate::ptrace) fn restore_retired(&self) {
        let known = self.retired.keys().chain(self.sites.values()).filter_map(|&slot| self.entry(slot));
        self.restore_under_jumps(&known.map(|entry| (entry.site, entry.bytes().to_vec())).collect());
        for entry in self.retired.keys().filter_map(|&slot| self.entry(slot)) {
            let is_former = || !self.sites.contains_key(&entry.site) && !self.is_in_jump(entry.site);
            let is_ours = || is_former() && self.is_armed(entry.site);
            if let Some(original) = mark(entry.bytes()).filter(|_| is_ours()) {
                self.memory.write(entry.site, &original);
            }
        }
    }
}
