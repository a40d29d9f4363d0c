//! One address space: its arenas, its sites and the breakpoints on them. Processes after `vfork` share one.

mod storage;
mod text;
mod view;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::mirror::Mirror;
use crate::arch::{Mode, Place, mode};
use crate::core::{Arena, Entry, Number, Passing, State, passing};
use crate::memory::ProcessMemory;
use crate::{Arch, Breakpoint, BreakpointId, Mapping, Method, Pid, Result};

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

impl Info {
    /// Of a site without a breakpoint.
    fn of(passing: &Passing) -> Info {
        let method = Method::of(passing);
        let boosted = method == Method::Boosted && passing.code().scratch.is_none();
        Info { first: None, internal: None, boosted, method: Some(method) }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Storage {
    pub(super) arena: Arena<Mirror>,
    info: Vec<Info>,
    /// It lies in guarded pages, and its slots are those of sites in such.
    pub(super) guarded: bool,
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
    /// Where the page lies whose code answers breakpoint instructions when the tracer is gone.
    pub(super) answer: Option<u64>,
    /// Processes that run in it.
    pub(super) users: usize,
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
            answer: None,
            users: 1,
        })
    }

    /// What a forked child gets; its counts begin at zero.
    pub(super) fn fork(&self, child: Pid) -> Result<Space> {
        let mut breakpoints = self.breakpoints.clone();
        for breakpoint in breakpoints.iter_mut().flatten() {
            (breakpoint.hits, breakpoint.arrivals) = (0, 0);
        }
        let memory = ProcessMemory::open(child)?;
        // It may have been copied before the page was mapped.
        let answer = self.answer.filter(|&page| memory.read_word(page, 8) == self.memory.read_word(page, 8));
        Ok(Space {
            memory,
            arch: self.arch,
            mode: self.mode,
            storages: self.storages.clone(),
            sites: self.sites.clone(),
            breakpoints,
            epoch: self.epoch,
            retired: self.retired.clone(),
            guarded: self.guarded.clone(),
            answer,
            users: 1,
        })
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

    /// Gives a site that was set anew its breakpoints back; where it could not be they are inactive.
    pub(super) fn settle(&mut self, site: u64, before: Info) {
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
}

pub(super) fn mapping_at(maps: &[Mapping], address: u64) -> Option<&Mapping> {
    let at = maps.partition_point(|mapping| mapping.end.0 <= address);
    maps.get(at).filter(|mapping| mapping.start.0 <= address)
}
