// SPDX-License-Identifier: GPL-2.0

//! Setting breakpoints, taking them out, and telling how often they were hit.

use core::sync::atomic::{AtomicU64, Ordering};

use kernel::prelude::*;
use ubp::arch::{ALIGNMENT, BEHIND, BREAKPOINT, MAX_LEN};
use ubp::core::{Arena, Entry, Error as TableError, Number, State};
use wire::site::Site;
use wire::{Failure, Status};

use crate::breakpoints::arena_cache::Cache;
use crate::breakpoints::insert::Batch;
use crate::breakpoints::patch::Patches;
use crate::device::commands::zeroes;
use crate::ffi;
use crate::mm::space::{wait_for_hits, Storage};
use crate::process::debuggee::Debuggee;

/// The number of the next session that sets a breakpoint.
static OWNERS: AtomicU64 = AtomicU64::new(1);

/// A number for a debuggee of a session, by which its breakpoints are told from those of others.
pub(crate) fn owner() -> u64 {
    OWNERS.fetch_add(1, Ordering::Relaxed)
}

/// What went wrong with a table that the debuggee can write to.
#[inline(never)]
pub(crate) fn failure(error: TableError, storage: &Storage) -> Failure {
    let offset = match error {
        TableError::Inaccessible(at) => at.offset,
        TableError::Corrupt { offset } => offset,
        _ => 0,
    };
    Failure::new(Status::Memory, storage.base.wrapping_add(offset))
}

/// Puts what stands at `at` over what of it lies in `bytes`, which stand at `address`.
#[inline(never)]
pub(crate) fn overlay(bytes: &mut [u8], address: u64, with: &[u8], at: u64) {
    for (byte, at) in with.iter().zip(at..) {
        if let Some(place) = bytes.get_mut(at.wrapping_sub(address) as usize) {
            *place = *byte;
        }
    }
}

/// An entry that was found.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) storage: Storage,
    number: Number,
    pub(crate) entry: Entry,
}

impl Debuggee {
    /// The entries of a site, of whatever session, at which a breakpoint instruction stands.
    #[inline(never)]
    pub(crate) fn active(&self, site: u64) -> impl Iterator<Item = Found> + '_ {
        let near = self.space().storages.iter().filter(move |storage| storage.serves(site));
        near.filter_map(move |storage| match self.arena(&storage).find(site) {
            Ok(Some((number, entry))) if entry.state == State::Active => Some(Found { storage, number, entry }),
            _ => None,
        })
    }

    #[inline(never)]
    pub(crate) fn own(&self, site: u64) -> Option<Found> {
        self.active(site).find(|found| found.storage.owner == self.owner)
    }

    /// Puts the program's own bytes in place of breakpoint instructions in what was read at `address`.
    pub(crate) fn clean(&self, address: u64, bytes: &mut [u8]) {
        if self.space().storages.iter().next().is_none() {
            return;
        }
        // A breakpoint instruction may begin before.
        let before = BREAKPOINT.len() as u64 - 1;
        let mut site = (address.wrapping_sub(before) + ALIGNMENT - 1) & !(ALIGNMENT - 1);
        let end = address.wrapping_add(bytes.len() as u64);
        while site.wrapping_sub(address.wrapping_sub(before)) < end.wrapping_sub(address.wrapping_sub(before)) {
            let inside = |at: u64| usize::try_from(at.wrapping_sub(address)).ok().filter(|at| *at < bytes.len());
            let stands = BREAKPOINT.iter().zip(site..).all(|(byte, at)| match inside(at) {
                Some(place) => bytes.get(place) == Some(byte),
                None => true,
            });
            let found = if stands { self.active(site).next() } else { None };
            if let Some(found) = found {
                overlay(bytes, address, found.entry.bytes().get(..BREAKPOINT.len()).unwrap_or_default(), site);
            }
            site = site.wrapping_add(ALIGNMENT);
        }
    }

    /// Sets breakpoints; tells of each that is not set. Says how many are.
    pub(crate) fn insert(&self, blob: &[u8], failures: &mut KVVec<u64>) -> Result<u64, Failure> {
        let records = wire::site::records(blob).ok_or(Failure::new(Status::Value, 1))?;
        let _change = self.space().change();
        let mut batch = Batch::new(self, self.owner, None)?;
        let mut tell = |place: usize, Failure { status, detail }: Failure| {
            failures
                .extend_from_slice(&[place as u64, status as u64, detail], GFP_KERNEL_ACCOUNT)
                .map_err(|_| Status::NoMemory)
        };
        let mut rest = records.len() as u64;
        let mut inserted = 0;
        for (place, record) in records.iter().enumerate() {
            match batch.enter(place, record, rest, None) {
                Ok(()) => inserted += 1,
                Err(failure) => tell(place, failure)?,
            }
            rest -= 1;
        }
        for (place, address) in batch.finish()?.iter() {
            tell(*place, Failure::new(Status::Memory, *address))?;
            inserted -= 1;
        }
        Ok(inserted)
    }

    /// The arenas of a session here.
    pub(crate) fn arenas(&self, owner: u64) -> Result<KVec<Arena<Cache<'_>>>, Failure> {
        let mut arenas = KVec::new();
        for storage in self.space().storages.iter().filter(|storage| storage.owner == owner) {
            arenas.push(self.arena(&storage), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        Ok(arenas)
    }

    /// How many entries of a storage were ever used.
    #[inline(never)]
    pub(crate) fn high_water(&self, storage: &Storage) -> Result<u32, TableError> {
        self.arena(storage).high_water()
    }

    /// The arena of a storage.
    #[inline(never)]
    pub(crate) fn arena(&self, storage: &Storage) -> Arena<Cache<'_>> {
        storage.arena(Cache::new(self, storage))
    }

    /// Takes breakpoints of this session out; says how many there were.
    pub(crate) fn remove(&self, addresses: &[u8]) -> Result<u64, Failure> {
        let (addresses, []) = addresses.as_chunks() else { return Err(Failure::new(Status::Value, 1)) };
        let _change = self.space().change();
        let mut arenas = self.arenas(self.owner)?;
        let mut patches = Patches::new(self);
        let mut removed = 0;
        let mut take_out = |site: u64| -> Result<(), Failure> {
            for arena in arenas.iter_mut() {
                let Ok(Some((number, entry))) = arena.find(site) else { continue };
                if entry.state == State::Active {
                    if !self.is_others(self.owner, site) {
                        patches.restore(site, entry.bytes())?;
                    }
                    self.put_aside(arena, number)?;
                    removed += 1;
                }
            }
            Ok(())
        };
        let all = addresses.iter().try_for_each(|bytes| take_out(u64::from_ne_bytes(*bytes)));
        // What was begun is ended, whatever came between: the program's bytes first, as a hit needs its entry.
        patches.make(|_, _| ())?;
        arenas.iter_mut().try_for_each(|arena| arena.memory_mut().flush())?;
        all.map(|()| removed)
    }

    /// No hit finds an entry any more, once what was changed is written.
    #[inline(never)]
    pub(crate) fn put_aside(&self, arena: &mut Arena<Cache<'_>>, number: Number) -> Result<(), Failure> {
        let storage = arena.memory().storage;
        let set = arena.entry(number).and_then(|mut entry| {
            entry.state = State::Retired;
            arena.set_entry(number, &entry)
        });
        set.map_err(|error| failure(error, &storage))?;
        self.space().storages.set_retired(&storage, self.space().storages.retired(&storage).saturating_add(1));
        Ok(())
    }

    /// Writes all `bytes`, or none of them where one cannot be written: breakpoints stay, of whatever session, and what they stand on
    /// is changed. Those that cannot stand on what is there then are gone. Where uprobes have written they may have written over
    /// breakpoint instructions, and where no breakpoint is nothing is left to write.
    pub(crate) fn overwrite(&self, address: u64, bytes: &[u8], by_uprobes: bool) -> Result<(), Failure> {
        let _change = self.space().change();
        let (mut data, mut raw, mut over) = (KVVec::new(), KVVec::new(), KVec::new());
        data.extend_from_slice(bytes, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        if self.space().storages.iter().next().is_some() {
            zeroes(&mut raw, bytes.len())?;
            self.read(address, &mut raw)?;
            // An instruction that reaches into it may begin before.
            let first = address.saturating_sub(MAX_LEN as u64 - 1).next_multiple_of(ALIGNMENT);
            let mut site = first;
            while site.wrapping_sub(first) < address.wrapping_sub(first) + bytes.len() as u64 {
                let place = usize::try_from(site.wrapping_sub(address)).ok();
                let stands = place.and_then(|place| raw.get(place)).is_none_or(|byte| Some(byte) == BREAKPOINT.first());
                let reaches = |found: &Found| address.wrapping_sub(site) as i64 <= found.entry.bytes().len() as i64 - 1;
                if stands || by_uprobes {
                    for found in self.active(site).filter(reaches) {
                        over.push(found, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
                    }
                }
                site = site.wrapping_add(ALIGNMENT);
            }
        }
        if by_uprobes {
            if over.is_empty() {
                return Ok(());
            }
            wait_for_hits();
            // SAFETY: no thread that is waited for needs what is locked.
            unsafe { ffi::ntrace_uprobes_leave(self.mm(), address.wrapping_add(BEHIND) as _) };
        }
        let mut batches: KVec<Batch<'_>> = KVec::new();
        for found in &over {
            if self.exchange(found, (address, bytes), &mut batches)? {
                overlay(&mut data, address, &BREAKPOINT, found.entry.site);
            }
        }
        match self.write(address, &data)? {
            count if count < bytes.len() => {
                return Err(Failure::new(Status::Memory, address.wrapping_add(count as u64)))
            }
            _ => {}
        }
        for batch in batches {
            batch.finish()?;
        }
        for found in &over {
            let mut arena = self.arena(&found.storage);
            self.put_aside(&mut arena, found.number)?;
            arena.memory_mut().flush()?;
        }
        Ok(())
    }

    /// Enters a breakpoint anew, for what is going to stand there. Says whether it can stand on that.
    fn exchange<'a>(
        &'a self,
        found: &Found,
        over: (u64, &'a [u8]),
        batches: &mut KVec<Batch<'a>>,
    ) -> Result<bool, Failure> {
        let owner = found.storage.owner;
        if !batches.iter().any(|batch| batch.owner == owner) {
            batches.push(Batch::new(self, owner, Some(over))?, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        let mut record = [0; Site::BYTES];
        self.read(found.storage.record(found.number), &mut record)?;
        let mut hits = 0;
        if let Some(first) = record.first_chunk_mut() {
            hits = u64::from_ne_bytes(core::mem::replace(first, found.entry.site.to_ne_bytes()));
        }
        let Some(batch) = batches.iter_mut().find(|batch| batch.owner == owner) else { return Ok(false) };
        match batch.enter(0, &record, 1, Some(hits)) {
            Ok(()) => Ok(true),
            Err(Failure { status: Status::NoMemory, .. }) => Err(Status::NoMemory.into()),
            // Nonsense, which somebody else wrote, is gone, too.
            Err(_) => Ok(false),
        }
    }

    /// Whether another session has a breakpoint at a site, too.
    pub(crate) fn is_others(&self, owner: u64, site: u64) -> bool {
        self.space().storages.iter().any(|storage| storage.owner != owner)
            && self.active(site).any(|other| other.storage.owner != owner)
    }

    /// Hits of each breakpoint; all bits where there is none.
    pub(crate) fn counts(&self, addresses: &[u8], counts: &mut KVVec<u8>) -> Result<(), Failure> {
        let (addresses, []) = addresses.as_chunks() else { return Err(Failure::new(Status::Value, 1)) };
        let _change = self.space().change();
        for address in addresses.iter().map(|bytes| u64::from_ne_bytes(*bytes)) {
            let mut count = [0xff; 8];
            if let Some(found) = self.own(address) {
                self.read(found.storage.record(found.number), &mut count)?;
            }
            counts.extend_from_slice(&count, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        Ok(())
    }
}
