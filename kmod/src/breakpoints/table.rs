// SPDX-License-Identifier: GPL-2.0

//! The breakpoints of an attachment in an address space: look-up, removal and counts.

use fastpath::{chunks, Storage};
use kernel::prelude::*;
use ubp::arch::{ALIGNMENT, BREAKPOINT};
use ubp::core::{Arena, Entry, Error as TableError, Number, State};
use wire::site::Site;
use wire::{Failure, Status};

use crate::breakpoints::arena_cache::Cache;
use crate::breakpoints::failure::{failure, overlay};
use crate::breakpoints::patch::Patches;
use crate::mm::remote::Remote;
use crate::mm::space::Space;

/// The breakpoints of an attachment in an address space.
#[derive(Clone, Copy)]
pub(crate) struct Breakpoints<'a> {
    pub(crate) space: &'a Space,
    pub(crate) memory: Remote<'a>,
    /// The number of the attachment. 0 stands for what a fork copied and no session traces.
    pub(crate) attachment: u64,
}

/// An entry of a table.
#[derive(Clone, Copy)]
pub(crate) struct Entered {
    pub(crate) storage: Storage,
    pub(crate) number: Number,
    pub(crate) entry: Entry,
}

impl<'a> Breakpoints<'a> {
    pub(crate) fn new(space: &'a Space, memory: Remote<'a>, attachment: u64) -> Breakpoints<'a> {
        Breakpoints { space, memory, attachment }
    }

    /// The entries of all attachments at a site that has a breakpoint instruction.
    #[inline(never)]
    pub(crate) fn active(&self, site: u64) -> impl Iterator<Item = Entered> + '_ {
        let near = self.space.storages.iter().filter(move |storage| storage.serves(site));
        near.filter_map(move |storage| match self.arena(&storage).find(site) {
            Ok(Some((number, entry))) if entry.state == State::Active => Some(Entered { storage, number, entry }),
            _ => None,
        })
    }

    /// The entry of this attachment at a site.
    #[inline(never)]
    fn own(&self, site: u64) -> Option<Entered> {
        self.active(site).find(|entered| entered.storage.owner == self.attachment)
    }

    /// Whether another attachment has a breakpoint at a site.
    pub(crate) fn is_shared(&self, site: u64) -> bool {
        self.space.storages.iter().any(|storage| storage.owner != self.attachment)
            && self.active(site).any(|other| other.storage.owner != self.attachment)
    }

    /// Replaces breakpoint instructions by the program's bytes in `bytes`, which were read at `address`.
    pub(crate) fn clean(&self, address: u64, bytes: &mut [u8]) {
        if self.space.storages.iter().next().is_none() {
            return;
        }
        // A breakpoint instruction may begin before `address`.
        let before = BREAKPOINT.len() as u64 - 1;
        let mut site = (address.wrapping_sub(before) + ALIGNMENT - 1) & !(ALIGNMENT - 1);
        let end = address.wrapping_add(bytes.len() as u64);
        while site.wrapping_sub(address.wrapping_sub(before)) < end.wrapping_sub(address.wrapping_sub(before)) {
            let inside = |at: u64| usize::try_from(at.wrapping_sub(address)).ok().filter(|at| *at < bytes.len());
            let is_breakpoint = BREAKPOINT.iter().zip(site..).all(|(byte, at)| match inside(at) {
                Some(index) => bytes.get(index) == Some(byte),
                None => true,
            });
            let entered = if is_breakpoint { self.active(site).next() } else { None };
            if let Some(Entered { entry, .. }) = entered {
                overlay(bytes, address, entry.bytes().get(..BREAKPOINT.len()).unwrap_or_default(), site);
            }
            site = site.wrapping_add(ALIGNMENT);
        }
    }

    /// The arenas of this attachment.
    pub(crate) fn arenas(&self) -> Result<KVec<Arena<Cache<'a>>>, Failure> {
        let mut arenas = KVec::new();
        for storage in self.space.storages.iter().filter(|storage| storage.owner == self.attachment) {
            arenas.push(self.arena(&storage), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        Ok(arenas)
    }

    /// The arena of a storage.
    #[inline(never)]
    pub(crate) fn arena(&self, storage: &Storage) -> Arena<Cache<'a>> {
        storage.arena(Cache::new(self.memory, storage))
    }

    /// How many entries of a storage were ever used.
    #[inline(never)]
    pub(crate) fn high_water(&self, storage: &Storage) -> Result<u32, TableError> {
        self.arena(storage).high_water()
    }

    /// Retires an entry: after the arena's cache is flushed, no hit finds it.
    #[inline(never)]
    pub(crate) fn retire(&self, arena: &mut Arena<Cache<'_>>, number: Number) -> Result<(), Failure> {
        let storage = arena.memory().storage;
        let set = arena.entry(number).and_then(|mut entry| {
            entry.state = State::Retired;
            arena.set_entry(number, &entry)
        });
        set.map_err(|error| failure(error, &storage))?;
        let storages = &self.space.storages;
        storages.set_retired(&storage, storages.retired(&storage).saturating_add(1));
        Ok(())
    }

    /// Removes this attachment's breakpoints at `addresses`. Returns how many it had.
    pub(crate) fn remove(&self, addresses: &[u8]) -> Result<u64, Failure> {
        let addresses = words(addresses)?;
        let _change = self.space.change()?;
        let mut arenas = self.arenas()?;
        let mut patches = Patches::new(self.memory);
        let mut removed = 0;
        let mut take_out = |site: u64| -> Result<(), Failure> {
            for arena in arenas.iter_mut() {
                let Ok(Some((number, entry))) = arena.find(site) else { continue };
                if entry.state == State::Active {
                    if !self.is_shared(site) {
                        patches.restore(site, entry.bytes())?;
                    }
                    self.retire(arena, number)?;
                    removed += 1;
                }
            }
            Ok(())
        };
        let all = addresses.iter().try_for_each(|bytes| take_out(u64::from_ne_bytes(*bytes)));
        // After a failure, too, the removals so far are completed. The program's bytes come first, because a hit needs its entry.
        patches.make(|_, _| ())?;
        arenas.iter_mut().try_for_each(|arena| arena.memory_mut().flush())?;
        all.map(|()| removed)
    }

    /// The two counts in the record at an address (`Site::counts`); `None` if the record cannot be read.
    pub(crate) fn counted(&self, record: u64) -> Result<Option<[u64; 2]>, Failure> {
        let mut bytes = [0; 8 * Site::COUNTS];
        let is_read = self.memory.read(record, &mut bytes)? == bytes.len();
        let mut words = [0; Site::COUNTS];
        words.iter_mut().zip(chunks(&bytes)).for_each(|(to, from)| *to = u64::from_ne_bytes(*from));
        Ok(is_read.then_some(Site::counts(&words)))
    }

    /// Appends a count to `counts` for each of `addresses`: that of this attachment's breakpoint there, or all bits set if there is none.
    pub(crate) fn counts(&self, addresses: &[u8], counted: Counted, counts: &mut KVVec<u8>) -> Result<(), Failure> {
        let addresses = words(addresses)?;
        let _change = self.space.change()?;
        for address in addresses.iter().map(|bytes| u64::from_ne_bytes(*bytes)) {
            let mut count = None;
            if let Some(Entered { storage, number, .. }) = self.own(address) {
                count = self.counted(storage.record(number))?;
            }
            let count = count.map_or(u64::MAX, |count| counted.of(count));
            counts.extend_from_slice(&count.to_ne_bytes(), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        Ok(())
    }
}

/// Which numbers of breakpoints are asked for.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    Hits,
    /// The hits that rules took.
    Taken,
}

impl Counted {
    /// That number of the two that `Site::counts` tells.
    pub(crate) fn of(self, [hits, taken]: [u64; 2]) -> u64 {
        match self {
            Counted::Hits => hits,
            Counted::Taken => taken,
        }
    }
}

/// The words of a blob, which must be whole.
pub(crate) fn words(bytes: &[u8]) -> Result<&[[u8; 8]], Failure> {
    if bytes.len() % 8 == 0 {
        Ok(chunks(bytes))
    } else {
        Err(Failure::new(Status::Value, 1))
    }
}
