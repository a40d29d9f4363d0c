// SPDX-License-Identifier: GPL-2.0

//! Breakpoints that are set together: tables are written once, and all instructions after them.

use kernel::alloc::KVec;
use kernel::prelude::*;
use stepping::{Exit, Progress, SLOT_SIZE};
use ubp::arch::{refusal, ALIGNMENT, BREAKPOINT, MARGIN, MAX_LEN};
use ubp::core::{prepare_near, Arena, Entry, Layout, Memory, Number, Passing, Problem, State};
use wire::site::Site;
use wire::{Failure, Status};

use crate::arch;
use crate::breakpoints::arena_cache::Cache;
use crate::breakpoints::patch::Patches;
use crate::breakpoints::table::{failure, overlay};
use crate::breakpoints::teardown;
use crate::device::commands::zeroes;
#[cfg(uprobes_call)]
use crate::ffi;
use crate::mm::mappings::{self, Code, Maps};
use crate::mm::space::mark;
use crate::process::debuggee::Debuggee;
use crate::thread::step::{unfindable, Step};
use crate::vec::Keep;

/// Entries of the first arena of a session.
const LEAST: u32 = 1008;
/// Bytes of code that are read at once.
const CHUNK: u64 = 8192;

/// Breakpoints that are being set.
pub(crate) struct Batch<'a> {
    debuggee: &'a Debuggee,
    /// Whose they are.
    pub(crate) owner: u64,
    /// What is going to stand in memory, and where.
    over: Option<(u64, &'a [u8])>,
    maps: Maps,
    /// The arenas of this session, with their changes.
    arenas: KVec<Arena<Cache<'a>>>,
    records: Records<'a>,
    patches: Patches<'a>,
    /// For each patch the place among the sites, the arena and the entry.
    patched: KVVec<(usize, usize, Number)>,
    /// The program's code from an address on.
    chunk: KVVec<u8>,
    chunk_at: u64,
}

/// What is to be entered: the number of its arena, its own in that, and how its instruction is passed.
struct Prepared {
    which: usize,
    number: Number,
    entry: Entry,
    passing: Passing,
}

/// Records of entries that follow each other are written together.
struct Records<'a> {
    debuggee: &'a Debuggee,
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
        let written = self.debuggee.write(self.address, &self.bytes)?;
        let is_all = written == self.bytes.len();
        self.bytes.keep(0);
        if is_all {
            Ok(())
        } else {
            Err(Failure::new(Status::Memory, self.address + written as u64))
        }
    }
}

impl<'a> Batch<'a> {
    /// One of none.
    pub(crate) fn new(debuggee: &'a Debuggee, owner: u64, over: Option<(u64, &'a [u8])>) -> Result<Batch<'a>, Failure> {
        Ok(Batch {
            debuggee,
            owner,
            over,
            maps: Maps::of(debuggee)?,
            arenas: debuggee.arenas(owner)?,
            records: Records { debuggee, address: 0, bytes: KVVec::new() },
            patches: Patches::new(debuggee),
            patched: KVVec::new(),
            chunk: KVVec::new(),
            chunk_at: 0,
        })
    }

    /// Enters a site by its record, which is number `place` of those that are to be set, of which `rest` are left; in place of one that
    /// is there where its hits are given.
    pub(crate) fn enter(
        &mut self,
        place: usize,
        record: &[u8; Site::BYTES],
        rest: u64,
        there: Option<u64>,
    ) -> Result<(), Failure> {
        let Site { address, actions, .. } = Site::from_bytes(record)?;
        for arena in self.arenas.iter() {
            let found = arena.find(address).map_err(|error| failure(error, &arena.memory().storage))?;
            if there.is_none() && found.is_some_and(|(_, entry)| entry.state == State::Active) {
                return Err(Failure::new(Status::Exists, address));
            }
        }
        let Prepared { which, number, mut entry, passing } = self.prepare(address, rest)?;
        #[cfg(uprobes_call)]
        // SAFETY: the instruction is as long as that.
        if unsafe { ffi::ntrace_uprobes_call(self.debuggee.mm(), entry.bytes().as_ptr(), entry.bytes().len()) } {
            return Err(Status::Unsupported.into());
        }
        entry.mark |= if actions != 0 { mark::ACTS } else { 0 };
        entry.mark |= if passing.is_boosted() { mark::SLOT } else { 0 };
        let mut record = *record;
        if let Some(hits) = record.first_chunk_mut() {
            *hits = there.unwrap_or(0).to_ne_bytes();
        }
        let arena = self.arenas.get_mut(which).ok_or(Status::NoMemory)?;
        let storage = arena.memory().storage;
        self.records.put(storage.record(number), &record)?;
        arena.insert(&entry, &passing.code().bytes).map_err(|error| failure(error, &storage))?;
        if there.is_none() && !self.debuggee.is_others(self.owner, address) {
            self.patches.set(address, entry.bytes())?;
            self.patched.push((place, which, number), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        Ok(())
    }

    /// Enters a slot in which a thread carries out the instruction at `address`, and then runs into a breakpoint instruction. No hit
    /// finds it.
    pub(crate) fn step(&mut self, address: u64) -> Result<Step, Failure> {
        let Prepared { which, number, mut entry, passing } = self.prepare(address, 1)?;
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
        Ok(Step { storage, number, entry })
    }

    /// How to pass the instruction at `address`, and where its slot is going to be.
    fn prepare(&mut self, address: u64, rest: u64) -> Result<Prepared, Failure> {
        if address % ALIGNMENT != 0 {
            return Err(Failure::new(Status::Value, 0));
        }
        let wrong = Failure::new(Status::Memory, address);
        let code = self.maps.code_at(address).ok_or(wrong)?;
        if self.debuggee.space().storages.iter().any(|storage| storage.contains(address)) {
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
        let mode = arch::mode(self.debuggee.mm());
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
        Ok(Prepared { which, number, entry, passing })
    }

    /// Sees to it that the code around `address` is in the chunk. Gives where what is looked at begins, and how far in the
    /// address lies.
    fn look(&mut self, address: u64, code: Code) -> Result<(u64, usize), Failure> {
        let first = address.saturating_sub(MARGIN).max(code.start);
        let last = address.saturating_add(MARGIN + MAX_LEN as u64).min(code.end);
        let chunk_end = self.chunk_at + self.chunk.len() as u64;
        if first < self.chunk_at || last > chunk_end {
            let start = (first & !(CHUNK / 2 - 1)).max(code.start);
            zeroes(&mut self.chunk, (code.end - start).min(CHUNK) as usize)?;
            let there = self.debuggee.read(start, &mut self.chunk)?;
            self.chunk.keep(there);
            self.chunk_at = start;
            self.debuggee.clean(start, &mut self.chunk);
            if let Some((address, bytes)) = self.over {
                overlay(&mut self.chunk, start, bytes, address);
            }
        }
        Ok((first, (address - first) as usize))
    }

    /// An arena of this session that has room for a site and reaches it, if it can be, in guarded pages where that lies in such.
    #[inline(never)]
    fn arena_for(&mut self, site: u64, rest: u64) -> Result<usize, Failure> {
        let debuggee = self.debuggee;
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
            } else if debuggee.space().storages.retired(&storage) > storage.layout.capacity() / 4 {
                which = Some((number, storage));
            }
        }
        if let Some((number, storage)) = which {
            // What was changed is written before others write to the same.
            self.records.flush()?;
            if let Some(arena) = self.arenas.get_mut(number) {
                arena.memory_mut().flush()?;
            }
            teardown::reclaim(debuggee, &storage)?;
            return Ok(number);
        }
        if !debuggee.space().storages.has_room() {
            return far.ok_or(Failure::new(Status::Limit, 0));
        }
        let wanted = u32::try_from(rest).unwrap_or(u32::MAX).max(largest.saturating_mul(2)).max(LEAST);
        let layout = Layout::new(wanted.min(Layout::MAX_CAPACITY / 8));
        let mapped = mappings::map(debuggee, self.owner, &mut self.maps, layout, site, far.is_some());
        if let (Err(_), Some(number)) = (&mapped, far) {
            return Ok(number);
        }
        let storage = mapped?;
        let arena = Arena::create(Cache::new(debuggee, &storage), storage.base, layout, arch::MACHINE as u32, [0; 8]);
        let arena = arena.map_err(|error| failure(error, &storage))?;
        self.arenas.push(arena, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        debuggee.space().storages.add(&storage).map_err(|_| Status::NoMemory)?;
        if guarded {
            // By these the next site finds it.
            self.maps = Maps::of(debuggee)?;
        }
        Ok(self.arenas.len() - 1)
    }

    /// Writes tables, and then the breakpoint instructions. Gives place and address of each that could not be written.
    pub(crate) fn finish(mut self) -> Result<KVVec<(usize, u64)>, Failure> {
        self.records.flush()?;
        for arena in self.arenas.iter_mut() {
            arena.memory_mut().flush()?;
        }
        let mut failed = KVVec::new();
        let (debuggee, patched, mut all) = (self.debuggee, &self.patched, Ok(()));
        self.patches.make(|number, address| {
            if let Some((place, which, entry)) = patched.get(number) {
                all = all.and(failed.push((*place, address), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory));
                if let Some(arena) = self.arenas.get_mut(*which) {
                    // A thread may have come by what stands there instead.
                    let _ = debuggee.put_aside(arena, *entry);
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
