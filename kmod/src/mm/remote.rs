// SPDX-License-Identifier: GPL-2.0

//! The memory of a process as other threads reach it.

use kernel::ffi::c_long;
use kernel::prelude::*;
use wire::{Failure, Status};

use crate::ffi::{self, Mm};
use crate::vec::{set_length, Keep};

/// The memory of a process. Each access takes a user of the memory and the lock of its mappings, and fails where the process has ended.
#[derive(Clone, Copy)]
pub(crate) struct Remote<'a> {
    mm: &'a Mm,
    /// The number of the process in the messages of failures.
    number: u64,
    /// The current thread holds the lock of the mappings.
    is_locked: bool,
    /// The process has ended, and the current thread must not wait for anybody.
    is_kept: bool,
}

impl<'a> Remote<'a> {
    pub(crate) fn new(mm: &'a Mm, number: u64) -> Remote<'a> {
        Remote { mm, number, is_locked: false, is_kept: false }
    }

    /// A memory that is only read, by a thread that holds the lock of its mappings.
    ///
    /// # Safety
    /// The current thread holds `mmap_lock` and is a user of the memory, as long as the value or a copy of it is used.
    pub(crate) unsafe fn locked(mm: &'a Mm) -> Remote<'a> {
        Remote { mm, number: 0, is_locked: true, is_kept: false }
    }

    /// A memory that is only read, whose process has ended. Of it nothing is read for which its reader might have to wait.
    ///
    /// # Safety
    /// The caller is a user of the memory, as long as the value or a copy of it is used.
    pub(crate) unsafe fn kept(mm: &'a Mm, number: u64) -> Remote<'a> {
        Remote { mm, number, is_locked: false, is_kept: true }
    }

    /// The `struct mm_struct`.
    pub(crate) fn mm(&self) -> &'a Mm {
        self.mm
    }

    /// Fills `bytes` up to the first byte that cannot be read. Returns how many bytes were read.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<usize, Failure> {
        let (to, size) = (bytes.as_mut_ptr().cast(), bytes.len());
        if self.is_kept {
            // SAFETY: `bytes` has `size` bytes. `is_kept` is set by `kept` alone, whose caller is a user of the memory.
            return self.count(unsafe { ffi::ntrace_memory_read_kept(self.mm, address as _, to, size as _) });
        }
        // SAFETY: `bytes` has `size` bytes. `is_locked` is set by `locked` alone, whose caller holds the lock.
        let read = unsafe { ffi::ntrace_memory_read(self.mm, address as _, to, size as _, self.is_locked) };
        self.count(read)
    }

    /// Writes all `bytes`, or none of them if one cannot be written. Returns how many bytes come before that one.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<usize, Failure> {
        // SAFETY: `bytes` has that many bytes.
        let written =
            unsafe { ffi::ntrace_memory_write(self.mm, address as _, bytes.as_ptr().cast(), bytes.len() as _) };
        self.count(written)
    }

    fn count(&self, returned: c_long) -> Result<usize, Failure> {
        match usize::try_from(returned) {
            Ok(count) => Ok(count),
            Err(_) if returned == ENOMEM.to_errno() as _ => Err(Status::NoMemory.into()),
            Err(_) => Err(self.gone()),
        }
    }

    /// Replaces `words` by four words for each mapping: start, end, protection, file offset.
    pub(crate) fn mappings(&self, words: &mut KVVec<u64>) -> Result<(), Failure> {
        let mut most = 0;
        loop {
            words.keep(0);
            words.reserve(most * 4, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
            let room = words.spare_capacity_mut().as_mut_ptr();
            // SAFETY: `room` has space for `most` mappings.
            let count = unsafe { ffi::ntrace_memory_mappings(self.mm, room.cast(), most as _) };
            let count = usize::try_from(count).map_err(|_| self.gone())?;
            if count <= most {
                // SAFETY: the function wrote all `count` mappings, four words each.
                unsafe { set_length(words, count * 4) };
                return Ok(());
            }
            most = count;
        }
    }

    /// The failure of an access after the process has ended.
    pub(crate) fn gone(&self) -> Failure {
        Failure::new(Status::NoProcess, self.number)
    }
}
