// SPDX-License-Identifier: GPL-2.0

//! The counts of all breakpoints of an attachment.

use kernel::prelude::*;
use ubp::core::State;
use wire::{Failure, Status};

use crate::breakpoints::slot::Entries;
use crate::breakpoints::table::Breakpoints;
use crate::ffi;

impl Breakpoints<'_> {
    /// Site and hits of each of this attachment's breakpoints, in the order of sites.
    pub(crate) fn all_counts(&self) -> Result<KVVec<[u64; 2]>, Failure> {
        let _change = self.space.change()?;
        let (mut all, mut record) = (KVVec::new(), [0; 8]);
        for storage in self.space.storages.iter().filter(|storage| storage.owner == self.attachment) {
            let entries = Entries::of(self, &storage)?;
            for number in entries.numbers() {
                match entries.arena(&storage).entry(number) {
                    Ok(entry) if entry.state == State::Active => {
                        if self.memory.read(storage.record(number), &mut record)? == record.len() {
                            let count = [entry.site, u64::from_ne_bytes(record)];
                            all.push(count, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
                        }
                    }
                    _ => {}
                }
            }
        }
        // SAFETY: the pointer and the length are those of one vector, whose elements are pairs of words.
        unsafe { ffi::ntrace_sort_pairs(all.as_mut_ptr().cast(), all.len() as _) };
        Ok(all)
    }
}
