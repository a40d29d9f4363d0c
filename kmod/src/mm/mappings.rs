// SPDX-License-Identifier: GPL-2.0

//! The mappings of a process, and new ones for the storages of breakpoints.

use fastpath::arch;
use fastpath::{chunks, Storage};
use kernel::alloc::KVVec;
use kernel::error::code::EEXIST;
use ubp::core::{places, Area, Layout, Use};
use wire::{Failure, Status};

use crate::ffi;
use crate::mm::remote::Remote;
use fastpath::layout::{NTRACE_PROT_EXEC, NTRACE_PROT_READ, NTRACE_PROT_WRITE};

/// The mappings of a process at some moment, by address: start, end, protection and file offset of each.
pub(crate) struct Maps {
    words: KVVec<u64>,
    /// The last answer of `code_at`: sites come in the order of their addresses.
    last: Code,
}

/// The addresses of an executable mapping.
#[derive(Clone, Copy)]
pub(crate) struct Code {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Maps {
    /// The present mappings.
    pub(crate) fn of(memory: &Remote<'_>) -> Result<Maps, Failure> {
        let mut words = KVVec::new();
        memory.mappings(&mut words)?;
        Ok(Maps { words, last: Code { start: 0, end: 0 } })
    }

    fn all(&self) -> &[[u64; 4]] {
        chunks(&self.words)
    }

    /// The executable mapping around an address.
    pub(crate) fn code_at(&mut self, address: u64) -> Option<Code> {
        if !(self.last.start..self.last.end).contains(&address) {
            let [start, end, protection, _] = *self.at(address)?;
            if protection & NTRACE_PROT_EXEC == 0 {
                return None;
            }
            self.last = Code { start, end };
        }
        Some(self.last)
    }

    /// Whether an address lies in a guarded page (BTI).
    pub(crate) fn is_guarded(&self, address: u64) -> bool {
        arch::GUARDED != 0 && self.at(address).is_some_and(|[_, _, protection, _]| protection & arch::GUARDED != 0)
    }

    fn at(&self, address: u64) -> Option<&[u64; 4]> {
        let behind = self.all().partition_point(|[start, ..]| *start <= address);
        self.all().get(behind.checked_sub(1)?).filter(|[_, end, ..]| address < *end)
    }

    /// The free address nearest to `site` for `size` bytes, and whether it is out of reach. Addresses within reach come first.
    #[inline(never)]
    fn find_room(&self, memory: &Remote<'_>, size: u64, site: u64) -> Option<(bool, u64)> {
        let (mut heap, mut brk, mut stack) = (0, 0, 0);
        // SAFETY: the function writes a word to each of the three variables.
        unsafe { ffi::ntrace_memory_growth(memory.mm(), &mut heap, &mut brk, &mut stack) };
        // The heap has an address before its first page is mapped.
        let middle = self.all().partition_point(|[start, ..]| *start < heap);
        let taken = |&[start, end, ..]: &[u64; 4]| {
            let usage = match () {
                () if (start..end).contains(&stack) => Use::Stack,
                () if start < brk && end > heap => Use::Heap,
                () => Use::Fixed,
            };
            Area { start, end, usage }
        };
        let heap = Area { start: heap, end: brk.max(heap), usage: Use::Heap };
        let areas = (0..self.all().len() + 1).filter_map(|number| match number.checked_sub(middle) {
            Some(0) => (heap.start != 0).then_some(heap),
            Some(_) => self.all().get(number - 1).map(taken),
            None => self.all().get(number).map(taken),
        });
        let mut best: Option<(bool, u64)> = None;
        for start in places(areas, arch::end(memory.mm()), arch::PAGE, size, site, site) {
            let far = !arch::reaches(start, start + size, site, site);
            if best.is_none_or(|best| (far, start.abs_diff(site)) < (best.0, best.1.abs_diff(site))) {
                best = Some((far, start));
            }
        }
        best
    }
}

/// Maps a storage, within reach of `site` if there is room or if it has to be `near`, and in guarded pages if the site's page is guarded.
pub(crate) fn map(
    memory: &Remote<'_>,
    attachment: u64,
    maps: &mut Maps,
    layout: Layout,
    site: u64,
    near: bool,
) -> Result<Storage, Failure> {
    let guard = if maps.is_guarded(site) { arch::GUARDED } else { 0 };
    loop {
        let size = Storage::new(0, layout, 0, false).size();
        let found = maps.find_room(memory, size, site).filter(|(far, _)| !(near && *far));
        let (far, base) = found.ok_or(Failure::new(Status::NoMemory, site))?;
        let storage = Storage::new(base, layout, attachment, far);
        let (code, records) = (storage.code_size(), storage.records_size());
        let mm = memory.mm();
        let execute = NTRACE_PROT_READ | NTRACE_PROT_EXEC | guard;
        // SAFETY: the function maps with MAP_FIXED_NOREPLACE, so no existing mapping changes.
        let mapped = unsafe { ffi::ntrace_memory_map(mm, base as _, code as _, execute as _) };
        if mapped == 0 {
            let write = NTRACE_PROT_READ | NTRACE_PROT_WRITE;
            // SAFETY: the function maps with MAP_FIXED_NOREPLACE, so no existing mapping changes.
            if unsafe { ffi::ntrace_memory_map(mm, (base + code) as _, records as _, write as _) } == 0 {
                return Ok(storage);
            }
            // SAFETY: this loop mapped these addresses above, and no breakpoint uses them yet.
            unsafe { ffi::ntrace_memory_unmap(mm, base as _, code as _) };
        }
        let before = maps.words.len();
        *maps = Maps::of(memory)?;
        if mapped != EEXIST.to_errno() as _ || maps.words.len() == before {
            return Err(Failure::new(Status::NoMemory, site));
        }
    }
}
