// SPDX-License-Identifier: GPL-2.0

//! Writing over code that has breakpoints.

use kernel::prelude::*;
use ubp::arch::{ALIGNMENT, BREAKPOINT, MAX_LEN};
use wire::site::Site;
use wire::{Failure, Status};

use crate::breakpoints::failure::overlay;
use crate::breakpoints::insert::Batch;
use crate::breakpoints::table::{Breakpoints, Entered};
use crate::vec::zeroes;

impl<'a> Breakpoints<'a> {
    /// Writes all `bytes`, or none of them if one cannot be written. The breakpoints of all attachments stay, and the instructions
    /// below them change; breakpoints that the new instructions do not allow are removed.
    ///
    /// `by_uprobes` says that uprobes have written the bytes. They may have written over breakpoint instructions, and where there is
    /// no breakpoint nothing is left to write.
    pub(crate) fn overwrite(&self, address: u64, bytes: &[u8], by_uprobes: bool) -> Result<(), Failure> {
        let _change = self.space.change()?;
        let (mut data, mut raw, mut over) = (KVVec::new(), KVVec::new(), KVec::new());
        data.extend_from_slice(bytes, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        if self.space.storages.iter().next().is_some() {
            zeroes(&mut raw, bytes.len())?;
            self.memory.read(address, &mut raw)?;
            // An instruction that reaches into the bytes may begin before.
            let first = address.saturating_sub(MAX_LEN as u64 - 1).next_multiple_of(ALIGNMENT);
            let mut site = first;
            while site.wrapping_sub(first) < address.wrapping_sub(first) + bytes.len() as u64 {
                let index = usize::try_from(site.wrapping_sub(address)).ok();
                let byte = index.and_then(|index| raw.get(index));
                let is_breakpoint = byte.is_none_or(|byte| Some(byte) == BREAKPOINT.first());
                let reaches =
                    |entered: &Entered| address.wrapping_sub(site) as i64 <= entered.entry.bytes().len() as i64 - 1;
                if is_breakpoint || by_uprobes {
                    for entered in self.active(site).filter(reaches) {
                        over.push(entered, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
                    }
                }
                site = site.wrapping_add(ALIGNMENT);
            }
        }
        if by_uprobes {
            if over.is_empty() {
                return Ok(());
            }
            // The threads that it waits for need no lock that is held here.
            self.space.handed.drain();
        }
        let mut batches: KVec<Batch<'_>> = KVec::new();
        for entered in &over {
            if self.exchange(entered, (address, bytes), &mut batches)? {
                overlay(&mut data, address, &BREAKPOINT, entered.entry.site);
            }
        }
        match self.memory.write(address, &data)? {
            count if count < bytes.len() => {
                return Err(Failure::new(Status::Memory, address.wrapping_add(count as u64)))
            }
            _ => {}
        }
        for batch in batches {
            batch.finish()?;
        }
        for entered in &over {
            let mut arena = self.arena(&entered.storage);
            self.retire(&mut arena, entered.number)?;
            arena.memory_mut().flush()?;
        }
        Ok(())
    }

    /// Enters a breakpoint anew, for the instruction that is about to be written below it. Returns whether the instruction allows it.
    fn exchange<'b>(
        &self,
        entered: &Entered,
        over: (u64, &'b [u8]),
        batches: &mut KVec<Batch<'b>>,
    ) -> Result<bool, Failure>
    where
        'a: 'b,
    {
        let attachment = entered.storage.owner;
        if !batches.iter().any(|batch| batch.attachment() == attachment) {
            let breakpoints = Breakpoints::new(self.space, self.memory, attachment);
            let batch = Batch::new(breakpoints, Some(over))?;
            batches.push(batch, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        let mut record = [0; Site::BYTES];
        self.memory.read(entered.storage.record(entered.number), &mut record)?;
        let mut hits = 0;
        if let Some(first) = record.first_chunk_mut() {
            hits = u64::from_ne_bytes(core::mem::replace(first, entered.entry.site.to_ne_bytes()));
        }
        let Some(batch) = batches.iter_mut().find(|batch| batch.attachment() == attachment) else { return Ok(false) };
        match batch.enter(0, &record, 1, Some(hits)) {
            Ok(()) => Ok(true),
            Err(Failure { status: Status::NoMemory, .. }) => Err(Status::NoMemory.into()),
            // A record that the debuggee has overwritten may make no sense. Its breakpoint is removed, too.
            Err(_) => Ok(false),
        }
    }
}
