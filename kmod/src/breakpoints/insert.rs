// SPDX-License-Identifier: GPL-2.0

//! Insertion of many breakpoints at once: the tables are written first, and all breakpoint instructions after them.

use core::ops::Range;

use fastpath::{arch, mark};
use kernel::alloc::KVec;
use kernel::prelude::*;
use stepping::{Exit, Progress, SLOT_SIZE};
use ubp::arch::{refusal, ALIGNMENT, BREAKPOINT, MARGIN, MAX_LEN};
use ubp::core::{prepare_near, Arena, Entry, Layout, Memory, Number, Passing, Problem, State};
use wire::site::Site;
use wire::{Failure, Status};

use crate::breakpoints::arena_cache::Cache;
use crate::breakpoints::failure::{failure, overlay};
use crate::breakpoints::patch::Patches;
use crate::breakpoints::table::{Breakpoints, Entered};
use crate::breakpoints::teardown;
#[cfg(uprobes_call)]
use crate::ffi;
use crate::mm::mappings::{self, Code, Maps};
use crate::mm::remote::Remote;
use crate::vec::{zeroes, Keep};

/// Entries of an attachment's first arena.
const LEAST: u32 = 1008;
/// Bytes of code that are read at once.
const CHUNK: u64 = 8192;

/// Breakpoints that are inserted together.
pub(crate) struct Batch<'a> {
    breakpoints: Breakpoints<'a>,
    /// An address, and bytes that are about to be written there. The breakpoints are inserted for these.
    over: Option<(u64, &'a [u8])>,
    maps: Maps,
    /// The attachment's arenas, with their changes.
    arenas: KVec<Arena<Cache<'a>>>,
    records: Records<'a>,
    patches: Patches<'a>,
    /// For each patch the number of its site in the command, the index of its arena and its entry.
    patched: KVVec<(usize, usize, Number)>,
    /// The memory from an address on.
    chunk: KVVec<u8>,
    chunk_at: u64,
    /// The part of it that has the program's bytes in the place of breakpoint instructions.
    clean: Range<u64>,
}

/// An entry that is about to be written.
struct Prepared {
    /// The index of its arena.
    arena: usize,
    number: Number,
    entry: Entry,
    passing: Passing,
}

/// Records of entries. Those that follow each other in memory are written together.
struct Records<'a> {
    memory: Remote<'a>,
    address: u64,
    bytes: KVVec<u8>,
}

impl Records<'_> {
    fn put(&mut self, address: u64, record: &[u8]) -> Result<(), Failure> {
        if address != self.address + self.bytes.len() as u64 {
            self.flush()?;
            self.address = address;
        }
        self.bytes.extend_from_slice(record, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory.into())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let written = self.memory.write(self.address, &self.bytes)?;
        let is_all = written == self.bytes.len();
        self.bytes.keep(0);
        if is_all {
            Ok(())
        } else {
            Err(Failure::new(Status::Memory, self.address + written as u64))
        }
    }
}

/// The site in the entry of a step. No hit looks for it, because no program has such an address.
pub(crate) fn unfindable(number: Number) -> u64 {
    !u64::from(number.0)
}

impl Breakpoints<'_> {
    /// Inserts breakpoints. Appends three words to `failures` for each that is not inserted: its index, the status and a detail. Returns
    /// how many are inserted.
    pub(crate) fn insert(&self, blob: &[u8], failures: &mut KVVec<u64>) -> Result<u64, Failure> {
        let records = wire::site::records(blob).ok_or(Failure::new(Status::Value, 1))?;
        let _change = self.space.change()?;
        let mut batch = Batch::new(*self, None)?;
        let mut tell = |index: usize, Failure { status, detail }: Failure| {
            failures
                .extend_from_slice(&[index as u64, status as u64, detail], GFP_KERNEL_ACCOUNT)
                .map_err(|_| Status::NoMemory)
        };
        let mut rest = records.len() as u64;
        let mut inserted = 0;
        for (index, record) in records.iter().enumerate() {
            match batch.enter(index, record, rest, None) {
                Ok(()) => inserted += 1,
                Err(failure) => tell(index, failure)?,
            }
            rest -= 1;
        }
        for (index, address) in batch.finish()?.iter() {
            tell(*index, Failure::new(Status::Memory, *address))?;
            inserted -= 1;
        }
        Ok(inserted)
    }
}

impl<'a> Batch<'a> {
    /// An empty batch. `over` are an address and bytes that are about to be written there.
    pub(crate) fn new(breakpoints: Breakpoints<'a>, over: Option<(u64, &'a [u8])>) -> Result<Batch<'a>, Failure> {
        let memory = breakpoints.memory;
        Ok(Batch {
            breakpoints,
            over,
            maps: Maps::of(&memory)?,
            arenas: breakpoints.arenas()?,
            records: Records { memory, address: 0, bytes: KVVec::new() },
            patches: Patches::new(memory),
            patched: KVVec::new(),
            chunk: KVVec::new(),
            chunk_at: 0,
            clean: 0..0,
        })
    }

    fn memory(&self) -> Remote<'a> {
        self.breakpoints.memory
    }

    /// The number of the attachment.
    pub(crate) fn attachment(&self) -> u64 {
        self.breakpoints.attachment
    }

    /// Enters the site of a record. The record has the number `index` in the command, which has `rest` more. If the hits of an existing
    /// breakpoint are given, `there`, the entry replaces that breakpoint's.
    pub(crate) fn enter(
        &mut self,
        index: usize,
        record: &[u8; Site::BYTES],
        rest: u64,
        there: Option<u64>,
    ) -> Result<(), Failure> {
        let site = Site::from_bytes(record)?;
        let address = site.address;
        for arena in self.arenas.iter() {
            let found = arena.find(address).map_err(|error| failure(error, &arena.memory().storage))?;
            if there.is_none() && found.is_some_and(|(_, entry)| entry.state == State::Active) {
                return Err(Failure::new(Status::Exists, address));
            }
        }
        let Prepared { arena: which, number, mut entry, passing } = self.prepare(address, rest)?;
        #[cfg(uprobes_call)]
        // SAFETY: the pointer and the length are those of one slice.
        if unsafe { ffi::ntrace_uprobes_is_call(self.memory().mm(), entry.bytes().as_ptr(), entry.bytes().len()) } {
            return Err(Status::Unsupported.into());
        }
        entry.mark |= if site.actions != 0 || site.rule().is_some() { mark::ACTS } else { 0 };
        entry.mark |= if passing.is_boosted() { mark::SLOT } else { 0 };
        if arch::SYSCALLS.contains(&entry.bytes()) {
            entry.mark = entry.mark & !mark::SLOT | mark::SYSCALL;
        }
        let mut record = *record;
        if let Some(hits) = record.first_chunk_mut() {
            *hits = there.unwrap_or(0).to_ne_bytes();
        }
        let arena = self.arenas.get_mut(which).ok_or(Status::NoMemory)?;
        let storage = arena.memory().storage;
        self.records.put(storage.record(number), &record)?;
        arena.insert(&entry, &passing.code().bytes).map_err(|error| failure(error, &storage))?;
        if there.is_none() && !self.breakpoints.is_shared(address) {
            self.patches.set(address, entry.bytes())?;
            self.patched.push((index, which, number), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        Ok(())
    }

    /// Enters the slot of a step: a thread carries out the instruction at `address` in it, and then runs into a breakpoint instruction. No
    /// hit finds the entry.
    pub(crate) fn step(&mut self, address: u64) -> Result<Entered, Failure> {
        let Prepared { arena: which, number, mut entry, passing } = self.prepare(address, 1)?;
        let code = passing.code();
        let arena = self.arenas.get_mut(which).ok_or(Status::NoMemory)?;
        let storage = arena.memory().storage;
        let is_behind = |at: &u8| code.original(*at).is_some_and(|at| at.progress == Progress::After);
        let mut slot = code.bytes;
        if let Some(behind) = (0..SLOT_SIZE as u8).find(is_behind) {
            let _ = slot.as_mut_slice().write(behind.into(), &BREAKPOINT);
        }
        (entry.state, entry.mark) = (State::Inactive, entry.mark | mark::STEP);
        entry.site = unfindable(number);
        arena.insert(&entry, &slot).map_err(|error| failure(error, &storage))?;
        entry.site = address;
        arena.set_entry(number, &entry).map_err(|error| failure(error, &storage))?;
        Ok(Entered { storage, number, entry })
    }

    /// Plans how threads pass the instruction at `address`, and chooses its slot.
    fn prepare(&mut self, address: u64, rest: u64) -> Result<Prepared, Failure> {
        if address % ALIGNMENT != 0 {
            return Err(Failure::new(Status::Value, 0));
        }
        let wrong = Failure::new(Status::Memory, address);
        let code = self.maps.code_at(address).ok_or(wrong)?;
        if self.breakpoints.space.storages.iter().any(|storage| storage.contains(address)) {
            return Err(wrong);
        }
        let (start, offset) = self.look(address, code)?;
        let window = self.chunk.get((start - self.chunk_at) as usize..).ok_or(wrong)?;
        let window = window.get(..2 * MARGIN as usize + MAX_LEN).unwrap_or(window);
        let bytes = window.get(offset..).filter(|bytes| !bytes.is_empty()).ok_or(wrong)?;
        let bytes = bytes.get(..MAX_LEN).unwrap_or(bytes);
        if let Some(refusal) = refusal(window, offset, address) {
            return Err(Failure::new(Status::Refused, refusal.number()));
        }
        let mut instruction = [0; MAX_LEN];
        let length = bytes.len();
        instruction.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        let bytes = instruction.get(..length).ok_or(wrong)?;

        let which = self.arena_for(address, rest)?;
        let arena = self.arenas.get_mut(which).ok_or(wrong)?;
        let storage = arena.memory().storage;
        let number = arena.next_number().map_err(|error| failure(error, &storage))?;
        let mode = arch::mode(self.breakpoints.memory.mm());
        let (passing, length) =
            prepare_near(bytes, address, arena.slot(number), mode).map_err(|problem| match problem {
                Problem::Refused(refusal) => Failure::new(Status::Refused, refusal.number()),
                _ => Failure::new(Status::Refused, 0),
            })?;
        let code = passing.code();
        let alone = match code.exit {
            Exit::Jump | Exit::Trap(_) => code.scratch.is_none(),
            _ => matches!(passing, Passing::Emulate(..)),
        };
        if !alone {
            return Err(Status::Unsupported.into());
        }
        let mut entry = Entry::new(address, bytes.get(..length).unwrap_or(bytes));
        entry.mark = if matches!(passing, Passing::Slot(_)) { mark::SLOT } else { 0 };
        entry.mark |= if self.maps.is_guarded(address) { mark::GUARDED } else { 0 };
        Ok(Prepared { arena: which, number, entry, passing })
    }

    /// Reads the code around `address` into the chunk. Returns the address of the first byte that the plan looks at, and the offset of
    /// `address` from it.
    fn look(&mut self, address: u64, code: Code) -> Result<(u64, usize), Failure> {
        let first = address.saturating_sub(MARGIN).max(code.start);
        let last = first.saturating_add(2 * MARGIN + MAX_LEN as u64).min(code.end);
        let chunk_end = self.chunk_at + self.chunk.len() as u64;
        if first < self.chunk_at || last > chunk_end {
            let start = (first & !(CHUNK / 2 - 1)).max(code.start);
            zeroes(&mut self.chunk, (code.end - start).min(CHUNK) as usize)?;
            let there = self.memory().read(start, &mut self.chunk)?;
            self.chunk.keep(there);
            self.chunk_at = start;
            self.clean = first..first;
        }
        self.clean_up(first, last);
        Ok((first, (address - first) as usize))
    }

    /// Puts the program's bytes in the place of breakpoint instructions from `first` to `last`. The rest of the chunk stays as it is, because each byte
    /// that looks like such an instruction costs a search of the tables.
    fn clean_up(&mut self, first: u64, last: u64) {
        if !(self.clean.start..=self.clean.end).contains(&first) {
            self.clean = first..first;
        }
        let last = last.min(self.chunk_at + self.chunk.len() as u64);
        let dirty = self.clean.end..last;
        let offset = |address: u64| address.wrapping_sub(self.chunk_at) as usize;
        if dirty.is_empty() {
            return;
        }
        if let Some(bytes) = self.chunk.get_mut(offset(dirty.start)..offset(dirty.end)) {
            self.breakpoints.clean(dirty.start, bytes);
        }
        self.clean.end = last;
        // A plan is made for the bytes that the command is about to write.
        if let Some((address, bytes)) = self.over {
            overlay(&mut self.chunk, self.chunk_at, bytes, address);
        }
    }

    /// The index of an arena of the attachment that has room for a site, within reach of the site if possible, and in guarded pages if the
    /// site's page is guarded. Maps an arena if there is none.
    #[inline(never)]
    fn arena_for(&mut self, site: u64, rest: u64) -> Result<usize, Failure> {
        let (storages, memory) = (&self.breakpoints.space.storages, self.memory());
        let guarded = self.maps.is_guarded(site);
        let mut largest = 0;
        let (mut which, mut far) = (None, None);
        for (number, arena) in self.arenas.iter().enumerate() {
            let storage = arena.memory().storage;
            largest = largest.max(storage.layout.capacity());
            if !storage.serves(site) || self.maps.is_guarded(storage.base) != guarded {
                continue;
            }
            if !arena.is_full().map_err(|error| failure(error, &storage))? {
                if !storage.is_far() {
                    return Ok(number);
                }
                far = Some(number);
            } else if storages.retired(&storage) > storage.layout.capacity() / 4 {
                which = Some((number, storage));
            }
        }
        if let Some((number, storage)) = which {
            // `reclaim` writes to the same memory, so the changes are written before.
            self.records.flush()?;
            if let Some(arena) = self.arenas.get_mut(number) {
                arena.memory_mut().flush()?;
            }
            // Where a thread does not leave a retired slot, another arena is mapped.
            if teardown::reclaim(&self.breakpoints, &storage).is_ok() {
                return Ok(number);
            }
        }
        if !storages.has_room() {
            return far.ok_or(Failure::new(Status::Limit, 0));
        }
        let wanted = u32::try_from(rest).unwrap_or(u32::MAX).max(largest.saturating_mul(2)).max(LEAST);
        let layout = Layout::new(wanted.min(Layout::MAX_CAPACITY / 8));
        let mapped = mappings::map(&memory, self.attachment(), &mut self.maps, layout, site, far.is_some());
        if let (Err(_), Some(number)) = (&mapped, far) {
            return Ok(number);
        }
        let storage = mapped?;
        let arena = Arena::create(Cache::new(memory, &storage), storage.base, layout, arch::MACHINE as u32, [0; 8]);
        let arena = arena.map_err(|error| failure(error, &storage))?;
        self.arenas.push(arena, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        storages.add(&storage).map_err(|_| Status::NoMemory)?;
        if guarded {
            // The next site looks for guarded arenas in the mappings.
            self.maps = Maps::of(&memory)?;
        }
        Ok(self.arenas.len() - 1)
    }

    /// Writes the tables, and then the breakpoint instructions. Returns the index and the address of each that could not be written.
    pub(crate) fn finish(mut self) -> Result<KVVec<(usize, u64)>, Failure> {
        self.records.flush()?;
        for arena in self.arenas.iter_mut() {
            arena.memory_mut().flush()?;
        }
        let mut failed = KVVec::new();
        let (breakpoints, patched, mut all) = (&self.breakpoints, &self.patched, Ok(()));
        self.patches.make(|number, address| {
            if let Some((index, which, entry)) = patched.get(number) {
                all = all.and(failed.push((*index, address), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory));
                if let Some(arena) = self.arenas.get_mut(*which) {
                    // A thread may have trapped at other bytes there and use the entry, so it is retired and not released.
                    let _ = breakpoints.retire(arena, *entry);
                }
            }
        })?;
        all?;
        for arena in self.arenas.iter_mut() {
            arena.memory_mut().flush()?;
        }
        Ok(failed)
    }
}
