//! The arenas of an address space: where its entries and slots lie.

use std::ops::Range;

use stepping::SLOT_SIZE;

use super::super::arch::{GROUP, PAGE, reaches};
use super::mirror::Mirror;
use super::{Info, SlotId, Space, Storage};
use crate::core::{Arena, Layout, Memory, Number, State, passing_whole};

impl Space {
    pub(in crate::ptrace) fn add_storage(&mut self, arena: Arena<Mirror>, guarded: bool, far: Option<Range<u64>>) {
        let info = vec![Info::default(); arena.layout().capacity() as usize];
        self.storages.push(Storage { arena, info, guarded, far });
    }

    /// Adds the active sites of the arena that was added last, which another tracer made. Returns the entries of that tracer's jumps, which are
    /// no sites.
    pub(in crate::ptrace) fn add_sites_of_last(&mut self) -> Vec<SlotId> {
        let mut of_jumps = Vec::new();
        let Some(last) = self.storages.len().checked_sub(1) else { return of_jumps };
        let mode = self.mode;
        let Some(storage) = self.storages.get_mut(last) else { return of_jumps };
        for number in (0..storage.arena.high_water().unwrap_or(0)).map(Number) {
            let Ok(entry) = storage.arena.entry(number) else { continue };
            let slot = SlotId { arena: last, number };
            match entry.state {
                State::Active if entry.mark != 0 => of_jumps.push(slot),
                State::Active => drop(self.sites.insert(entry.site, slot)),
                State::Retired | State::Inactive => drop(self.retired.insert(slot, self.epoch)),
                State::Free => continue,
            }
            let Ok(passing) = passing_whole(&entry, storage.arena.slot(number), mode) else { continue };
            // Another version may have written other code.
            let (code, mut there) = (passing.code().bytes, [0; SLOT_SIZE]);
            let at = storage.arena.slot(number) - storage.arena.base();
            let is_read = storage.arena.memory().read(at, &mut there).is_ok();
            if let Some(info) = storage.info.get_mut(number.0 as usize).filter(|_| is_read && there == code) {
                *info = Info::of(&passing);
            }
        }
        of_jumps
    }

    /// The tracer's mappings: the arenas, in their order, the page with the handler, and what jumps lead to.
    pub(in crate::ptrace) fn hidden(&self) -> Vec<(u64, u64)> {
        let ranges = self.storages.iter().map(|storage| {
            let base = storage.arena.base();
            (base, base + storage.arena.layout().size().next_multiple_of(PAGE))
        });
        ranges.chain(self.trap_handler.map(|page| (page, page + PAGE))).chain(self.jumps.mappings()).collect()
    }

    /// The arena for a new site.
    pub(super) fn storage_for(&self, site: u64) -> Option<usize> {
        self.storages.iter().position(|storage| self.suits(storage, site) && storage.arena.is_full() == Ok(false))
    }

    /// Active sites, sorted, of which either the site or the slot lies in a guarded page, but not both. At a jump that makes no difference.
    pub(in crate::ptrace) fn misplaced(&self) -> Vec<(u64, Info)> {
        let misplaced = self.sites.iter().filter_map(|(&site, &slot)| {
            let storage = self.storages.get(slot.arena)?;
            let is_misplaced = storage.guarded != self.is_guarded(site) && !self.is_jumped(site);
            is_misplaced.then_some((site, self.info(slot)?))
        });
        misplaced.collect()
    }

    /// Whether a site's slot can lie in an arena.
    pub(super) fn suits(&self, storage: &Storage, site: u64) -> bool {
        let base = storage.arena.base();
        let end = base + storage.arena.layout().size();
        let serves = match &storage.far {
            Some(sites) => sites.contains(&site),
            None => reaches(self.arch, base, end, site, site),
        };
        serves && storage.guarded == self.is_guarded(site)
    }

    /// The groups of new sites for which there is no room: the lowest and the highest site, and their number. `sites` is
    /// sorted.
    pub(in crate::ptrace) fn missing(&self, sites: &[u64]) -> Vec<(u64, u64, u32)> {
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

    /// The number of entries of a new arena for `count` more sites; no arena is smaller than one before it.
    pub(in crate::ptrace) fn capacity_for(&self, count: u32) -> u32 {
        let largest = self.storages.iter().map(|storage| storage.arena.layout().capacity()).max().unwrap_or(0);
        count.saturating_add(count / 4).max(largest.saturating_mul(2).min(1 << 20)).clamp(1008, Layout::MAX_CAPACITY)
    }

    /// Writes the changes of the mirrors to the debuggee. Returns whether all were written; the next call writes the others.
    pub(in crate::ptrace) fn flush(&mut self) -> bool {
        let (memory, mut done) = (&self.memory, true);
        for storage in &mut self.storages {
            let base = storage.arena.base();
            done &= storage.arena.memory_mut().flush(|offset, bytes| memory.write(base + offset, bytes) == bytes.len());
        }
        done
    }

    /// Frees the slots that lost their site before `seen`, the epoch up to which every thread was seen outside of slots.
    pub(in crate::ptrace) fn reclaim(&mut self, seen: u64) {
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
}
