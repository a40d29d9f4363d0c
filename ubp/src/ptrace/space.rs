//! One address space: its arenas, its sites and the breakpoints on them. Processes after `vfork` share one.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::arch::{GRANULE, GROUP, PAGE, reaches};
use super::mirror::Mirror;
use crate::arch::{ALIGNMENT, BREAKPOINT, MARGIN, MAX_LEN, Mode, Place, mode, refusal};
use crate::core::{Arena, Entry, Layout, Number, Passing, Problem, State, passing, prepare};
use crate::memory::ProcessMemory;
use crate::{Arch, Breakpoint, BreakpointId, InsertReason, Mapping, Method, Pid, Result};

/// The breakpoint instruction, or what stands in its place.
type Mark = [u8; BREAKPOINT.len()];
/// Sites farther apart than this are written apart.
const FAR: u64 = 512;
/// The longest piece of text read and written at once.
const PIECE: u64 = 64 << 10;

/// A slot of the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SlotId {
    pub(super) arena: usize,
    pub(super) number: Number,
}

/// What the tracer itself wants of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Internal {
    /// The program's entry point.
    Entry,
    /// The dynamic loader's function for debuggers.
    Loader,
}

/// What the tracer keeps beside an entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Info {
    /// The first breakpoint at the site.
    pub(super) first: Option<BreakpointId>,
    pub(super) internal: Option<Internal>,
    /// The thread only needs to be sent to the slot.
    pub(super) boosted: bool,
    method: Option<Method>,
}

#[derive(Clone, Debug)]
pub(super) struct Storage {
    pub(super) arena: Arena<Mirror>,
    info: Vec<Info>,
    /// It lies in guarded pages, and its slots are those of sites in such.
    guarded: bool,
    /// It is out of reach of the sites for which it was made, which lie here.
    far: Option<Range<u64>>,
}

/// An address space.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) memory: ProcessMemory,
    pub(super) arch: Arch,
    pub(super) mode: Mode,
    pub(super) storages: Vec<Storage>,
    /// Active sites.
    pub(super) sites: BTreeMap<u64, SlotId>,
    /// By id.
    pub(super) breakpoints: Vec<Option<Breakpoint>>,
    /// Grows with every change of sites.
    pub(super) epoch: u64,
    /// Entries without a site, and the epoch in which they lost it.
    retired: HashMap<SlotId, u64>,
    /// Mappings of guarded pages, by address.
    pub(super) guarded: Vec<Range<u64>>,
    /// Processes that run in it.
    pub(super) users: usize,
}

/// A piece of text with sites to write.
struct Run {
    start: u64,
    raw: Vec<u8>,
    /// Offsets of what is to change, and to what.
    edits: Vec<(usize, Mark)>,
    /// The program may write there at the same time.
    writable: bool,
}

/// How many of the first `sites`, at least one, lie close together in `mapping`.
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
    pub(super) fn new(pid: Pid, arch: Arch) -> Result<Space> {
        Ok(Space {
            memory: ProcessMemory::open(pid)?,
            arch,
            mode: mode(arch),
            storages: Vec::new(),
            sites: BTreeMap::new(),
            breakpoints: Vec::new(),
            epoch: 1,
            retired: HashMap::new(),
            guarded: Vec::new(),
            users: 1,
        })
    }

    /// What a forked child gets; its counts begin at zero.
    pub(super) fn fork(&self, child: Pid) -> Result<Space> {
        let mut breakpoints = self.breakpoints.clone();
        for breakpoint in breakpoints.iter_mut().flatten() {
            (breakpoint.hits, breakpoint.arrivals) = (0, 0);
        }
        Ok(Space {
            memory: ProcessMemory::open(child)?,
            arch: self.arch,
            mode: self.mode,
            storages: self.storages.clone(),
            sites: self.sites.clone(),
            breakpoints,
            epoch: self.epoch,
            retired: self.retired.clone(),
            guarded: self.guarded.clone(),
            users: 1,
        })
    }

    /// Whether an address lies in a guarded page.
    pub(super) fn is_guarded(&self, address: u64) -> bool {
        let before = self.guarded.partition_point(|range| range.end <= address);
        self.guarded.get(before).is_some_and(|range| range.contains(&address))
    }

    pub(super) fn add_storage(&mut self, arena: Arena<Mirror>, guarded: bool, far: Option<Range<u64>>) {
        let info = vec![Info::default(); arena.layout().capacity() as usize];
        self.storages.push(Storage { arena, info, guarded, far });
    }

    pub(super) fn entry(&self, slot: SlotId) -> Option<Entry> {
        self.storages.get(slot.arena)?.arena.entry(slot.number).ok()
    }

    pub(super) fn info(&self, slot: SlotId) -> Option<Info> {
        self.storages.get(slot.arena)?.info.get(slot.number.0 as usize).copied()
    }

    pub(super) fn info_mut(&mut self, slot: SlotId) -> Option<&mut Info> {
        self.storages.get_mut(slot.arena)?.info.get_mut(slot.number.0 as usize)
    }

    pub(super) fn slot_address(&self, slot: SlotId) -> u64 {
        self.storages.get(slot.arena).map_or(0, |storage| storage.arena.slot(slot.number))
    }

    /// The entry of a site: the active one, or else one that was.
    pub(super) fn find(&self, site: u64) -> Option<(SlotId, Entry)> {
        let mut found = None;
        for (arena, storage) in self.storages.iter().enumerate() {
            if let Ok(Some((number, entry))) = storage.arena.find(site) {
                found = Some((SlotId { arena, number }, entry));
                if entry.state == State::Active {
                    break;
                }
            }
        }
        found
    }

    /// The slot that `pc` lies in, and how far in.
    pub(super) fn slot_at(&self, pc: u64) -> Option<(SlotId, u8)> {
        self.storages.iter().enumerate().find_map(|(arena, storage)| {
            let (number, offset) = storage.arena.slot_at(pc)?;
            Some((SlotId { arena, number }, offset))
        })
    }

    pub(super) fn passing(&self, slot: SlotId) -> Option<Passing> {
        passing(&self.entry(slot)?, self.slot_address(slot), self.mode).ok()
    }

    /// What a thread's `pc` means, where it is in a slot.
    pub(super) fn place(&self, pc: u64) -> Option<(SlotId, Place)> {
        let (slot, offset) = self.slot_at(pc)?;
        Some((slot, self.passing(slot)?.code().original(offset)?))
    }

    pub(super) fn breakpoint_mut(&mut self, id: BreakpointId) -> Option<&mut Breakpoint> {
        self.breakpoints.get_mut(id.0 as usize)?.as_mut()
    }

    /// Where storage lies.
    pub(super) fn hidden(&self) -> Vec<(u64, u64)> {
        let ranges = self.storages.iter().map(|storage| {
            let base = storage.arena.base();
            (base, base + storage.arena.layout().size().next_multiple_of(PAGE))
        });
        ranges.collect()
    }

    /// Puts the original bytes over `buffer`, which was read at `address`.
    fn clean(&self, address: u64, buffer: &mut [u8]) {
        let end = address.saturating_add(buffer.len() as u64);
        // One that begins before may reach in.
        for (&site, &slot) in self.sites.range(address.saturating_sub(BREAKPOINT.len() as u64 - 1)..end) {
            let Some(original) = self.entry(slot).and_then(|entry| mark(entry.bytes())) else { continue };
            let before = address.saturating_sub(site) as usize;
            let (ours, original) = (BREAKPOINT.get(before..), original.get(before..));
            let (Some(ours), Some(original)) = (ours, original) else { continue };
            let place = buffer.get_mut(site.saturating_sub(address) as usize..).unwrap_or_default();
            let length = place.len().min(ours.len());
            if let (Some(place), Some(ours), Some(original)) =
                (place.get_mut(..length), ours.get(..length), original.get(..length))
                // Else it is not ours: the program wrote there, or mapped something else.
                && place == ours
            {
                place.copy_from_slice(original);
            }
        }
    }

    /// Whether a breakpoint instruction stands at `site`.
    pub(super) fn is_armed(&self, site: u64) -> bool {
        self.memory.read_array(site) == Some(BREAKPOINT)
    }

    /// Reads memory without our bytes, and returns how much there is.
    pub(super) fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let count = self.memory.read(address, buffer);
        if let Some(part) = buffer.get_mut(..count) {
            self.clean(address, part);
        }
        count
    }

    pub(super) fn clean_bytes(&self, address: u64, buffer: &mut [u8]) {
        self.clean(address, buffer);
    }

    /// The storage for a new site.
    fn storage_for(&self, site: u64) -> Option<usize> {
        self.storages.iter().position(|storage| self.suits(storage, site) && storage.arena.is_full() == Ok(false))
    }

    /// Whether a site's slot can lie in a storage.
    fn suits(&self, storage: &Storage, site: u64) -> bool {
        let base = storage.arena.base();
        let end = base + storage.arena.layout().size();
        let serves = match &storage.far {
            Some(sites) => sites.contains(&site),
            None => reaches(self.arch, base, end, site, site),
        };
        serves && storage.guarded == self.is_guarded(site)
    }

    /// The groups of new sites for which there is no room: lowest and highest site, and how many. `sites` is sorted.
    pub(super) fn missing(&self, sites: &[u64]) -> Vec<(u64, u64, u32)> {
        let mut free: Vec<u32> = self
            .storages
            .iter()
            .map(|s| s.arena.layout().capacity().saturating_sub(s.arena.count().unwrap_or(u32::MAX)))
            .collect();
        let mut groups: Vec<(u64, u64, u32)> = Vec::new();
        for &site in sites {
            let room =
                self.storages.iter().zip(&mut free).find(|(storage, free)| **free > 0 && self.suits(storage, site));
            if let Some((_, free)) = room {
                *free -= 1;
                continue;
            }
            match groups.last_mut() {
                Some((low, high, count)) if site - *low < GROUP && self.is_guarded(*low) == self.is_guarded(site) => {
                    *high = site;
                    *count += 1;
                }
                _ => groups.push((site, site, 1)),
            }
        }
        groups
    }

    /// Entries for `count` more sites: an arena not smaller than those before it.
    pub(super) fn capacity_for(&self, count: u32) -> u32 {
        let largest = self.storages.iter().map(|storage| storage.arena.layout().capacity()).max().unwrap_or(0);
        count.saturating_add(count / 4).max(largest.saturating_mul(2).min(1 << 20)).clamp(1008, Layout::MAX_CAPACITY)
    }

    /// Puts breakpoint instructions at `sites`, which are sorted, not active, and within reach of storage.
    pub(super) fn arm(&mut self, maps: &[Mapping], sites: &[u64]) -> Vec<Result<(), InsertReason>> {
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
                    _ if !site.is_multiple_of(ALIGNMENT) => Err(InsertReason::Misaligned),
                    None => Err(InsertReason::NotWritable),
                    Some(bytes) => match refusal(&clean, offset, site) {
                        Some(refusal) => Err(InsertReason::Refused(refusal)),
                        None => self.enter(site, bytes.get(..MAX_LEN).unwrap_or(bytes)),
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
        self.flush();
        for (run, owners) in runs {
            if !self.write_run(run) {
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

    /// Enters one site in the table, with its slot.
    fn enter(&mut self, site: u64, bytes: &[u8]) -> Result<SlotId, InsertReason> {
        if let Some((slot, entry)) = self.find(site)
            && entry.state == State::Retired
            && bytes.starts_with(entry.bytes())
        {
            // Its slot is still right, even for threads that are in it.
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
            prepare(bytes, site, storage.arena.slot(number), mode).map_err(|problem| match problem {
                Problem::NotAnInstruction(error) => InsertReason::NotAnInstruction(error),
                Problem::Refused(refusal) => InsertReason::Refused(refusal),
            })?;
        let mut entry = Entry::new(site, bytes.get(..length).unwrap_or(bytes));
        entry.references = 0;
        let number = storage.arena.insert(&entry, &passing.code().bytes).map_err(|_| InsertReason::NoRoom)?;
        let method = Method::of(&passing);
        if let Some(info) = storage.info.get_mut(number.0 as usize) {
            let boosted = method == Method::Boosted && passing.code().scratch.is_none();
            *info = Info { first: None, internal: None, boosted, method: Some(method) };
        }
        let slot = SlotId { arena, number };
        self.sites.insert(site, slot);
        Ok(slot)
    }

    pub(super) fn method(&self, slot: SlotId) -> Method {
        self.info(slot).and_then(|info| info.method).unwrap_or(Method::Emulated)
    }

    pub(super) fn change(&mut self, slot: SlotId, change: impl FnOnce(&mut Entry)) {
        if let Some(storage) = self.storages.get_mut(slot.arena)
            && let Ok(mut entry) = storage.arena.entry(slot.number)
        {
            change(&mut entry);
            // The mirror can always be written.
            let _ = storage.arena.set_entry(slot.number, &entry);
        }
    }

    /// Takes a site out of use; threads may still be in its slot.
    fn retire(&mut self, slot: SlotId) {
        let Some(entry) = self.entry(slot) else { return };
        self.sites.remove(&entry.site);
        self.change(slot, |entry| {
            entry.state = State::Retired;
            entry.references = 0;
        });
        if let Some(info) = self.info_mut(slot) {
            info.first = None;
            info.internal = None;
        }
        self.retired.insert(slot, self.epoch);
    }

    /// Puts the original bytes back at `sites`, which are sorted, and takes the sites out of use.
    pub(super) fn disarm(&mut self, maps: &[Mapping], sites: &[u64]) {
        self.epoch += 1;
        for run in self.restoring_runs(maps, sites) {
            // Where it cannot be written nothing is mapped any more.
            let _ = self.write_run(run);
        }
        for site in sites {
            if let Some(&slot) = self.sites.get(site) {
                self.retire(slot);
            }
        }
        self.flush();
    }

    /// The memory at and around some neighbouring sites of one mapping, as it is and as the program has it.
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

    fn restoring_runs(&self, maps: &[Mapping], sites: &[u64]) -> Vec<Run> {
        let mut runs = Vec::new();
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
                // Only where our instruction still is: something else may have been mapped there since.
                let ours = run.raw.get(offset..).is_some_and(|raw| raw.starts_with(&BREAKPOINT))
                    && clean.get(offset..).is_some_and(|bytes| bytes.starts_with(entry.bytes()));
                if let (true, Some(original)) = (ours, mark(entry.bytes())) {
                    run.edits.push((offset, original));
                }
            }
            runs.push(run);
        }
        runs
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

    /// Writes what changed in the mirrors to the debuggee.
    pub(super) fn flush(&mut self) {
        let memory = &self.memory;
        for storage in &mut self.storages {
            let base = storage.arena.base();
            storage.arena.memory_mut().flush(|offset, bytes| memory.write(base + offset, bytes) == bytes.len());
        }
    }

    /// Frees the slots that lost their site before `seen`, the epoch up to which every thread was seen outside of them.
    pub(super) fn reclaim(&mut self, seen: u64) {
        let storages = &mut self.storages;
        self.retired.retain(|&slot, &mut epoch| {
            if epoch >= seen {
                return true;
            }
            if let Some(storage) = storages.get_mut(slot.arena) {
                let _ = storage.arena.release(slot.number);
            }
            false
        });
    }

    /// Takes sites out of use whose code is gone from `maps`, or replaced.
    pub(super) fn drop_unmapped(&mut self, maps: &[Mapping]) {
        let gone: Vec<(u64, SlotId)> = self
            .sites
            .iter()
            .filter(|&(&site, _)| mapping_at(maps, site).is_none_or(|mapping| !mapping.execute) || !self.is_armed(site))
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

    /// Takes one site out of use whose code is gone; its breakpoints stay, inactive.
    pub(super) fn deactivate(&mut self, slot: SlotId) {
        let mut next = self.info(slot).and_then(|info| info.first);
        while let Some(breakpoint) = next.and_then(|id| self.breakpoint_mut(id)) {
            breakpoint.active = false;
            next = breakpoint.next.take();
        }
        self.retire(slot);
        self.change(slot, |entry| entry.state = State::Inactive);
    }

    /// Writes memory; breakpoint instructions that stand there stay.
    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) -> usize {
        let end = address.saturating_add(bytes.len() as u64);
        let mut raw = bytes.to_vec();
        let touched: Vec<(u64, SlotId)> = self
            .sites
            .range(address.saturating_sub(MAX_LEN as u64)..end)
            .filter(|&(&site, &slot)| {
                self.entry(slot).is_some_and(|entry| site + entry.bytes().len() as u64 > address) && self.is_armed(site)
            })
            .map(|(&site, &slot)| (site, slot))
            .collect();
        let mut texts = Vec::with_capacity(touched.len());
        for &(site, slot) in &touched {
            let mut text = [0; MAX_LEN];
            let length = self.read(site, &mut text);
            for (at, byte) in text.iter_mut().enumerate().take(length) {
                let from = (site + at as u64).checked_sub(address).and_then(|at| bytes.get(at as usize));
                *byte = from.copied().unwrap_or(*byte);
            }
            texts.push((site, slot, text, length));
        }
        // The slots first: a thread that hits in between passes by the new instruction.
        for (site, slot, text, length) in texts {
            self.replace(site, slot, text.get(..length).unwrap_or(&[]));
            if self.sites.contains_key(&site) {
                for (at, byte) in BREAKPOINT.into_iter().enumerate() {
                    let place = (site + at as u64).checked_sub(address).and_then(|at| raw.get_mut(at as usize));
                    place.into_iter().for_each(|place| *place = byte);
                }
            }
        }
        self.flush();
        self.memory.write(address, &raw)
    }

    /// Gives a site another instruction.
    fn replace(&mut self, site: u64, old: SlotId, text: &[u8]) {
        let info = self.info(old).unwrap_or_default();
        self.epoch += 1;
        self.retire(old);
        if let Some(original) = mark(text) {
            match self.enter(site, text) {
                Ok(slot) => {
                    if let Some(new) = self.info_mut(slot) {
                        (new.first, new.internal) = (info.first, info.internal);
                    }
                    let method = self.method(slot);
                    let mut next = info.first;
                    while let Some(breakpoint) = next.and_then(|id| self.breakpoint_mut(id)) {
                        breakpoint.method = method;
                        next = breakpoint.next;
                    }
                }
                Err(_) => {
                    self.memory.write(site, &original);
                    let mut next = info.first;
                    while let Some(breakpoint) = next.and_then(|id| self.breakpoint_mut(id)) {
                        breakpoint.active = false;
                        next = breakpoint.next.take();
                    }
                }
            }
        }
    }

    /// Makes the memory of a forked child agree with the table: the parent's sites may have changed while it was copied.
    pub(super) fn rearm(&mut self) {
        for storage in &mut self.storages {
            let size = storage.arena.layout().size();
            let base = storage.arena.base();
            let mut all = vec![0; size as usize];
            if crate::core::Memory::read(storage.arena.memory(), 0, &mut all).is_ok() {
                self.memory.write(base, &all);
            }
        }
        for (&slot, retired) in
            self.sites.values().map(|slot| (slot, false)).chain(self.retired.keys().map(|slot| (slot, true)))
        {
            let Some(entry) = self.entry(slot) else { continue };
            let Some(original) = mark(entry.bytes()) else { continue };
            let (from, to) = if retired { (BREAKPOINT, original) } else { (original, BREAKPOINT) };
            let current = self.memory.read_array(entry.site);
            if current == Some(from) && !(retired && self.sites.contains_key(&entry.site)) {
                self.memory.write(entry.site, &to);
            }
        }
    }
}

pub(super) fn mapping_at(maps: &[Mapping], address: u64) -> Option<&Mapping> {
    let at = maps.partition_point(|mapping| mapping.end.0 <= address);
    maps.get(at).filter(|mapping| mapping.start.0 <= address)
}

/// What stands in an instruction where a breakpoint instruction goes.
fn mark(instruction: &[u8]) -> Option<Mark> {
    instruction.first_chunk().copied()
}
