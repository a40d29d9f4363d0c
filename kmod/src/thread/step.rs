// SPDX-License-Identifier: GPL-2.0

//! Steps: slots in which held threads carry out one instruction.

use kernel::prelude::*;
use wire::{Failure, Status};

use crate::breakpoints::failure::failure;
use crate::breakpoints::insert::{unfindable, Batch};
use crate::breakpoints::table::{Breakpoints, Entered};
use crate::vec;

/// The slot of a step.
#[derive(Clone, Copy)]
pub(crate) struct Step(pub(crate) Entered);

/// The last step of each thread of a debuggee.
pub(crate) struct Steps(KVec<(u64, Step)>);

impl Steps {
    pub(crate) const NONE: Steps = Steps(KVec::new());

    /// Prepares a step of a held thread, which is at `address`.
    pub(crate) fn prepare(
        &mut self,
        breakpoints: &Breakpoints<'_>,
        thread: u64,
        address: u64,
    ) -> Result<Step, Failure> {
        let _change = breakpoints.space.change()?;
        // The thread has left the slot of its last step.
        if let Some((_, Step(last))) = vec::take(&mut self.0, |(other, _)| *other == thread) {
            let Entered { storage, number, mut entry } = last;
            let mut arena = breakpoints.arena(&storage);
            entry.site = unfindable(number);
            let freed = arena.set_entry(number, &entry).and_then(|()| arena.release(number));
            freed.map_err(|error| failure(error, &storage))?;
            arena.memory_mut().flush()?;
        }
        let mut batch = Batch::new(*breakpoints, None)?;
        let step = Step(batch.step(address)?);
        batch.finish()?;
        self.0.push((thread, step), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        Ok(step)
    }
}
