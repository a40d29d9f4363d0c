// SPDX-License-Identifier: GPL-2.0

//! The counts of all breakpoints of an attachment.

use kernel::prelude::*;
use ubp::core::State;
use wire::{Failure, Status};

use crate::breakpoints::slot::Entries;
use crate::breakpoints::table::Breakpoints;
use crate::ffi;

impl Breakpoints<'_> {
    /// The address, the hits and the taken hits of each of this attachment's breakpoints, sorted by address.
    pub(crate) fn all_counts(&self) -> Result<KVVec<[u64; 3]>, Failure> {
        let _change = self.space.change()?;
        let mut all = KVVec::new();
        for storage in self.space.storages.iter().filter(|storage| storage.owner == self.attachment) {
            let entries = Entries::of(self, &storage)?;
            for number in entries.numbers() {
                match entries.arena(&storage).entry(number) {
                    Ok(entry) if entry.state == State::Active => {
                        if let Some([hits, taken]) = self.counted(storage.record(number))? {
                            all.push([entry.site, hits, taken], GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
                        }
                    }
                    _ => {}
                }
            }
        }
        // SAFETY: the pointer and the length are those of one vector, whose elements are three words each.
        unsafe { ffi::ntrace_sort_counts(all.as_mut_ptr().cast(), all.len() as _) };
        Ok(all)
    }
}
