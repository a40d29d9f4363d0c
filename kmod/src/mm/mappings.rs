// SPDX-License-Identifier: GPL-2.0

//! What is mapped in a debuggee, and mapping arenas there.

use kernel::alloc::KVVec;
use kernel::error::code::EEXIST;
use ubp::core::{places, Area, Layout, Use};
use wire::{Failure, Status};

use crate::arch;
use crate::ffi;
use crate::mm::space::Storage;
use crate::process::debuggee::Debuggee;

/// The bit of a mapping's protection that says it can be executed (`PROT_EXEC`).
const EXECUTE: u64 = 4;
const READ: u64 = 1;
const WRITE: u64 = 2;

/// What was mapped at some moment: four words each, as `mappings` tells, by address.
pub(crate) struct Maps {
    words: KVVec<u64>,
    /// What was found last: sites come in order.
    last: Code,
}

/// Addresses of one mapping that can be executed.
#[derive(Clone, Copy)]
pub(crate) struct Code {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Maps {
    /// What is mapped now.
    pub(crate) fn of(debuggee: &Debuggee) -> Result<Maps, Failure> {
        let mut words = KVVec::new();
        debuggee.mappings(&mut words)?;
        Ok(Maps { words, last: Code { start: 0, end: 0 } })
    }

    fn all(&self) -> &[[u64; 4]] {
        self.words.as_chunks().0
    }

    /// The code that an address lies in.
    pub(crate) fn code_at(&mut self, address: u64) -> Option<Code> {
        if !(self.last.start..self.last.end).contains(&address) {
            let [start, end, protection, _] = *self.at(address)?;
            if protection & EXECUTE == 0 {
                return None;
            }
            self.last = Code { start, end };
        }
        Some(self.last)
    }

    /// Whether an address lies in a guarded page.
    pub(crate) fn is_guarded(&self, address: u64) -> bool {
        arch::GUARDED != 0 && self.at(address).is_some_and(|[_, _, protection, _]| protection & arch::GUARDED != 0)
    }

    fn at(&self, address: u64) -> Option<&[u64; 4]> {
        let behind = self.all().partition_point(|[start, ..]| *start <= address);
        self.all().get(behind.checked_sub(1)?).filter(|[_, end, ..]| address < *end)
    }

    /// Whether no address for `size` bytes reaches a site, and the nearest.
    #[inline(never)]
    fn place(&self, debuggee: &Debuggee, size: u64, site: u64) -> Option<(bool, u64)> {
        let (mut heap, mut brk, mut stack) = (0, 0, 0);
        // SAFETY: the places are this function's.
        unsafe { ffi::ntrace_memory_growth(debuggee.mm(), &mut heap, &mut brk, &mut stack) };
        // The heap is there before its first page is mapped.
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
        for start in places(areas, arch::end(debuggee.mm()), arch::PAGE, size, site, site) {
            let far = !arch::reaches(start, start + size, site, site);
            if best.is_none_or(|best| (far, start.abs_diff(site)) < (best.0, best.1.abs_diff(site))) {
                best = Some((far, start));
            }
        }
        best
    }
}

/// Maps an arena that reaches `site`, if it can be or is to be `near`, in guarded pages where that lies in such.
pub(crate) fn map(
    debuggee: &Debuggee,
    owner: u64,
    maps: &mut Maps,
    layout: Layout,
    site: u64,
    near: bool,
) -> Result<Storage, Failure> {
    let guard = if maps.is_guarded(site) { arch::GUARDED } else { 0 };
    loop {
        let size = Storage::new(0, layout, 0, false).size();
        let found = maps.place(debuggee, size, site).filter(|(far, _)| !(near && *far));
        let (far, base) = found.ok_or(Failure::new(Status::NoMemory, site))?;
        let storage = Storage::new(base, layout, owner, far);
        let (code, records) = (storage.code_size(), storage.records_size());
        let mm = debuggee.mm();
        // SAFETY: the kernel looks after what is mapped there already.
        let mapped = unsafe { ffi::ntrace_memory_map(mm, base as _, code as _, (READ | EXECUTE | guard) as _) };
        if mapped == 0 {
            // SAFETY: the same.
            if unsafe { ffi::ntrace_memory_map(mm, (base + code) as _, records as _, (READ | WRITE) as _) } == 0 {
                return Ok(storage);
            }
            // SAFETY: it was mapped a line before.
            unsafe { ffi::ntrace_memory_unmap(mm, base as _, code as _) };
        }
        let before = maps.words.len();
        *maps = Maps::of(debuggee)?;
        if mapped != EEXIST.to_errno() as _ || maps.words.len() == before {
            return Err(Failure::new(Status::NoMemory, site));
        }
    }
}
