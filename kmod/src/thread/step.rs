// SPDX-License-Identifier: GPL-2.0

//! A held thread carries out one instruction.

use kernel::prelude::*;
use ubp::core::{way, Entry, Number, Way};
use wire::{Failure, Status};

use crate::breakpoints::arena_cache::Cache;
use crate::breakpoints::insert::Batch;
use crate::breakpoints::table::failure;
use crate::breakpoints::teardown::here;
use crate::ffi;
use crate::hit::hit;
use crate::mm::space::{mark, Storage};
use crate::process::attachment::Watch;
use crate::process::debuggee::Debuggee;
use crate::vec;
use fastpath::{run, Hit, Modes, Registers};

/// How a held thread carries out the instruction at which it stands.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) storage: Storage,
    pub(crate) number: Number,
    pub(crate) entry: Entry,
}

/// What the entry of a step is found by, which is asked for by nobody: no program has such an address.
pub(crate) fn unfindable(number: Number) -> u64 {
    !u64::from(number.0)
}

impl Step {
    /// Does it with the thread that runs here. Says whether it is done; else it is when the thread comes to the end of the slot.
    pub(crate) fn begin(&self, watch: &Watch, registers: &mut Registers) -> bool {
        let slot = here(&self.storage).slot(self.number);
        watch.call_this(slot);
        let is_emulated = self.entry.mark & mark::SLOT == 0;
        // In a slot it is the signal that finds out.
        // SAFETY: it looks at the current thread.
        if is_emulated && unsafe { ffi::ntrace_thread_is_signalled() } {
            // SAFETY: it marks the current thread.
            unsafe { ffi::ntrace_thread_call_this() };
            return false;
        }
        let way = is_emulated.then(|| way(&self.entry, registers.mode(Modes::of_this_machine())));
        if let Some(Ok(Way::Emulate(emulate))) = way {
            for _ in 0..hit::TRIES {
                match run(registers, &emulate, &self.entry, slot, 0) {
                    Hit::Absent { address, write, .. } if hit::bring_in(address, write) => {}
                    Hit::Passed | Hit::SingleStep => return registers.pc() != slot,
                    _ => break,
                }
            }
        }
        registers.set_pc(slot);
        false
    }
}

impl Debuggee {
    /// Prepares a step of a held thread from `address` on.
    pub(crate) fn step(&mut self, thread: u64, address: u64) -> Result<Step, Failure> {
        let mut steps = core::mem::take(&mut self.steps);
        let step = self.exchange_step(&mut steps, thread, address);
        self.steps = steps;
        step
    }

    fn exchange_step(&self, steps: &mut KVec<(u64, Step)>, thread: u64, address: u64) -> Result<Step, Failure> {
        let _change = self.space().change();
        // It has left the slot of its last step.
        if let Some((_, Step { storage, number, mut entry })) = vec::take(steps, |(other, _)| *other == thread) {
            let mut arena = storage.arena(Cache::new(self, &storage));
            entry.site = unfindable(number);
            let freed = arena.set_entry(number, &entry).and_then(|()| arena.release(number));
            freed.map_err(|error| failure(error, &storage))?;
            arena.memory_mut().flush()?;
        }
        let mut batch = Batch::new(self, self.owner, None)?;
        let step = batch.step(address)?;
        batch.finish()?;
        steps.push((thread, step), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        Ok(step)
    }
}
