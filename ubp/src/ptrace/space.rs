//! One address space: its arenas, its sites and their breakpoints. Parent and child of a vfork(2) share one.

mod adding;
#[cfg(target_arch = "aarch64")]
#[path = "space/arm64/answers.rs"]
mod answers;
#[cfg(target_arch = "x86_64")]
#[path = "space/x86/answers.rs"]
mod answers;
mod chain;
mod counting;
#[cfg(target_arch = "aarch64")]
#[path = "space/arm64/covering.rs"]
mod covering;
#[cfg(target_arch = "x86_64")]
#[path = "space/x86/covering.rs"]
mod covering;
mod edits;
mod jumping;
mod left;
pub(super) mod mirror;
pub(super) mod page;
mod plain;
mod probing;
mod reader;
mod recording;
pub(super) mod room;
mod storage;
mod summing;
mod text;
mod view;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use self::mirror::Mirror;
pub(super) use self::plain::BySlot;
use super::jumps::{Jumps, Ring, Taken};
use super::recorder::Recorder;
use super::sums::Summed;
use crate::arch::{Mode, Place, WHOLE_BRANCHES, mode};
use crate::core::{Arena, Entry, Number, Passing, State, passing, passing_whole};
use crate::memory::ProcessMemory;
use crate::watch::Watches;
use crate::{AggregationId, Arch, Breakpoint, BreakpointId, Mapping, Method, NoJump, Operand, Pid, Result};

/// A slot, by its arena and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SlotId {
    pub(super) arena: usize,
    pub(super) number: Number,
}

/// Why the tracer itself has a breakpoint at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Internal {
    /// The program's entry point.
    Entry,
    /// The dynamic loader's function for debuggers.
    Loader,
}

/// What the tracer keeps about a site besides its entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Info {
    /// The first breakpoint at the site.
    pub(super) first: Option<BreakpointId>,
    pub(super) internal: Option<Internal>,
    /// A thread passes the site by a jump to the slot alone.
    pub(super) boosted: bool,
    /// A jump to the slot may stand for the emulation ([`Space::by_slot`](Space::by_slot)).
    whole: bool,
    method: Option<Method>,
}

impl Info {
    /// The information about a site without a breakpoint.
    fn of(passing: &Passing) -> Info {
        let method = Method::of(passing);
        let boosted = method == Method::Boosted && passing.code().scratch.is_none();
        let whole = WHOLE_BRANCHES && method == Method::Emulated && passing.is_boosted();
        Info { first: None, internal: None, boosted, whole, method: Some(method) }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Storage {
    pub(super) arena: Arena<Mirror>,
    info: Vec<Info>,
    /// The arena lies in guarded pages, and serves sites in guarded pages.
    pub(super) guarded: bool,
    /// Where the sites lie for which the arena was made, if a branch does not reach them.
    far: Option<Range<u64>>,
}

/// An address space.
#[derive(Debug)]
pub(super) struct Space {
    /// The process that the memory is, or was, that of: rows of aggregations have it for all processes that share the memory.
    pub(super) owner: Pid,
    pub(super) memory: ProcessMemory,
    pub(super) arch: Arch,
    pub(super) mode: Mode,
    pub(super) storages: Vec<Storage>,
    /// The active sites.
    pub(super) sites: BTreeMap<u64, SlotId>,
    /// The user's breakpoints, by id.
    pub(super) breakpoints: Vec<Option<Breakpoint>>,
    /// A breakpoint may be one of a single thread.
    has_threads: bool,
    /// A site may have a call whose code in the slot is a [`BySlot::calls`].
    pub(super) has_calls: bool,
    /// The sites that threads are to run to, and the number of these threads.
    targets: BTreeMap<u64, usize>,
    pub(super) watches: Watches,
    /// A number that grows with every change of sites.
    pub(super) epoch: u64,
    /// Slots without a site, and the epoch in which they lost it.
    retired: HashMap<SlotId, u64>,
    /// The sites with jumps.
    pub(super) jumps: Jumps,
    /// The hits that were recorded.
    pub(super) recorded: Recorder,
    /// The values of the aggregations that breakpoints name.
    summed_values: BTreeMap<AggregationId, Operand>,
    /// The state of each row of a trampoline at the last reading, by the row's address.
    taken: BTreeMap<u64, Taken>,
    /// What was read and is in no aggregation yet.
    pub(super) summed: Vec<Summed>,
    /// The entries for addresses in bytes that jumps cover.
    answers: HashMap<u64, SlotId>,
    /// The mappings of guarded pages, by address.
    pub(super) guarded: Vec<Range<u64>>,
    /// The page whose code handles signals of breakpoints when the tracer is gone.
    pub(super) trap_handler: Option<u64>,
    /// Whether it handles faults in the code of jumps.
    pub(super) answers_faults: bool,
    /// The number of processes that run in the space, and of threads that are still to depart from it.
    pub(super) users: usize,
}

impl Space {
    pub(super) fn new(pid: Pid, arch: Arch) -> Result<Space> {
        Ok(Space {
            owner: pid,
            memory: ProcessMemory::open(pid)?,
            arch,
            mode: mode(arch),
            storages: Vec::new(),
            sites: BTreeMap::new(),
            breakpoints: Vec::new(),
            has_threads: false,
            has_calls: false,
            targets: BTreeMap::new(),
            watches: Watches::default(),
            epoch: 1,
            retired: HashMap::new(),
            jumps: Jumps::default(),
            recorded: Recorder::default(),
            summed_values: BTreeMap::new(),
            taken: BTreeMap::new(),
            summed: Vec::new(),
            answers: HashMap::new(),
            guarded: Vec::new(),
            trap_handler: None,
            answers_faults: false,
            users: 1,
        })
    }

    /// The address space of a forked child. Its counts begin at zero.
    pub(super) fn fork(&self, child: Pid) -> Result<Space> {
        let memory = ProcessMemory::open(child)?;
        // The kernel may have copied the memory before the page was mapped.
        let trap_handler =
            self.trap_handler.filter(|&page| memory.read_word(page, 8) == self.memory.read_word(page, 8));
        let mut space = Space {
            owner: child,
            memory,
            arch: self.arch,
            mode: self.mode,
            storages: self.storages.clone(),
            sites: self.sites.clone(),
            breakpoints: self.breakpoints.clone(),
            has_threads: self.has_threads,
            has_calls: self.has_calls,
            targets: self.targets.clone(),
            watches: self.watches.clone(),
            epoch: self.epoch,
            retired: self.retired.clone(),
            jumps: self.jumps.clone(),
            recorded: self.recorded.fork(child),
            summed_values: self.summed_values.clone(),
            taken: BTreeMap::new(),
            summed: Vec::new(),
            answers: self.answers.clone(),
            guarded: self.guarded.clone(),
            trap_handler,
            answers_faults: self.answers_faults,
            users: 1,
        };
        for store in &mut space.jumps.stores {
            store.ring = store.ring.take().map(|ring| Ring::of_maker(ring.shape));
            store.rows = None;
        }
        space.clear_counts();
        Ok(space)
    }

    /// Whether an address lies in a guarded page.
    pub(super) fn is_guarded(&self, address: u64) -> bool {
        let before = self.guarded.partition_point(|range| range.end <= address);
        self.guarded.get(before).is_some_and(|range| range.contains(&address))
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

    /// The entry of a site: the active one, or else a former one.
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

    /// The slot that `pc` lies in, and the offset in the slot.
    pub(super) fn slot_at(&self, pc: u64) -> Option<(SlotId, u8)> {
        self.storages.iter().enumerate().find_map(|(arena, storage)| {
            let (number, offset) = storage.arena.slot_at(pc)?;
            Some((SlotId { arena, number }, offset))
        })
    }

    pub(super) fn passing(&self, slot: SlotId) -> Option<Passing> {
        let whole = self.info(slot).is_some_and(|info| info.whole);
        let passing = if whole { passing_whole } else { passing };
        passing(&self.entry(slot)?, self.slot_address(slot), self.mode).ok()
    }

    /// The original place of a `pc` in a slot.
    pub(super) fn place(&self, pc: u64) -> Option<(SlotId, Place)> {
        let (slot, offset) = self.slot_at(pc)?;
        Some((slot, self.passing(slot)?.code().original(offset)?))
    }

    pub(super) fn breakpoint_mut(&mut self, id: BreakpointId) -> Option<&mut Breakpoint> {
        self.breakpoints.get_mut(id.0 as usize)?.as_mut()
    }

    pub(super) fn method(&self, slot: SlotId) -> Method {
        self.info(slot).and_then(|info| info.method).unwrap_or(Method::Emulated)
    }

    pub(super) fn change(&mut self, slot: SlotId, change: impl FnOnce(&mut Entry)) {
        let Some(storage) = self.storages.get_mut(slot.arena) else { return };
        if let Ok(mut entry) = storage.arena.entry(slot.number) {
            change(&mut entry);
            // A write to the mirror cannot fail.
            let _ = storage.arena.set_entry(slot.number, &entry);
        }
    }

    /// Takes a site out of use. Threads may still be in its slot.
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

    /// Gives a site that was removed and inserted again its breakpoints back. Where the site could not be inserted its
    /// breakpoints become inactive.
    pub(super) fn restore_breakpoints(&mut self, site: u64, before: Info) {
        let slot = self.sites.get(&site).copied();
        let method = slot.map(|slot| self.method(slot));
        let mut references = 0;
        let mut next = before.first;
        while let Some(breakpoint) = next.and_then(|id| self.breakpoint_mut(id)) {
            references += 1;
            next = match method {
                Some(method) => {
                    breakpoint.method = method;
                    breakpoint.next
                }
                None => {
                    breakpoint.active = false;
                    breakpoint.next.take()
                }
            };
        }
        let Some(slot) = slot else { return };
        self.change(slot, |entry| entry.references = references);
        if let Some(info) = self.info_mut(slot) {
            (info.first, info.internal) = (before.first, before.internal);
        }
    }

    /// Takes one site out of use whose code is gone. Its breakpoints stay, inactive.
    pub(super) fn deactivate(&mut self, slot: SlotId) {
        let head = self.entry(slot).and_then(|entry| Some(self.jumps.of_member(entry.site)?.site));
        if let Some(head) = head {
            self.forget_jump(head, NoJump::NotOfFile);
        }
        let mut next = self.info(slot).and_then(|info| info.first);
        while let Some(breakpoint) = next.and_then(|id| self.breakpoint_mut(id)) {
            breakpoint.active = false;
            next = breakpoint.next.take();
        }
        self.retire(slot);
        self.change(slot, |entry| entry.state = State::Inactive);
    }
}

pub(super) fn mapping_at(maps: &[Mapping], address: u64) -> Option<&Mapping> {
    let at = maps.partition_point(|mapping| mapping.end.0 <= address);
    maps.get(at).filter(|mapping| mapping.start.0 <= address)
}
