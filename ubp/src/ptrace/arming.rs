//! Writes debug registers of stopped threads, and reads which of them saw an access.

use super::arch;
use super::status::Status;
use super::tracees::Tracees;
use crate::watch::{Hit, Piece};
use crate::{Access, Address, Error, Pid, Result, Tid, WatchError, WatchId};

impl Tracees {
    /// Adds a watchpoint to the memory of a process. `tid`: a stopped thread there.
    pub(super) fn add_watch(
        &mut self,
        (pid, tid): (Pid, Tid),
        address: Address,
        length: u64,
        access: Access,
    ) -> Result<WatchId> {
        let present = arch::debug_registers(tid, access)?;
        self.watching = true;
        let added = self.space_of_mut(pid)?.watches.add(address.0, length, access, present);
        added.map_err(|reason| Error::Watch(WatchError { pid, address, length, reason }))
    }

    /// Writes the debug registers of a stopped thread, if they differ from what its memory's watchpoints want.
    pub(super) fn arm(&mut self, tid: Tid) -> Result<()> {
        if !self.watching {
            return Ok(());
        }
        let thread = self.thread(tid)?;
        let watches = &self.space_of(thread.pid)?.watches;
        if thread.armed.epoch == watches.epoch || !thread.armed.is_wanted() {
            return Ok(());
        }
        let (epoch, pieces) = (watches.epoch, watches.pieces());
        // A trap that is due refers to the present contents, and stops the thread before its next instruction.
        if thread.armed.is_any() && Status::read(tid)?.trap_due() {
            return Ok(());
        }
        let outcome = arch::set_debug_registers(tid, &pieces);
        let armed = &mut self.thread_mut(tid)?.armed;
        armed.epoch = epoch;
        armed.pieces = if outcome.is_ok() { pieces } else { Vec::new() };
        outcome
    }

    /// Clears the debug registers of a stopped thread. It gets them back when it runs again.
    pub(super) fn disarm(&mut self, tid: Tid) -> Result<()> {
        let armed = &mut self.thread_mut(tid)?.armed;
        armed.epoch = u64::MAX;
        armed.pieces.clear();
        arch::set_debug_registers(tid, &[])
    }

    /// The watchpoints that a thread has run into, by its debug registers.
    pub(super) fn take_hits(&mut self, tid: Tid, trigger: u64) -> Result<Vec<Hit>> {
        let thread = self.thread(tid)?;
        self.hits_of(tid, &arch::take_fired(tid, &thread.armed.pieces, trigger)?)
    }

    /// The watchpoints that a thread has run into where the processor does not tell which: none unless only one debug register is in use.
    pub(super) fn only_hit(&self, tid: Tid) -> Result<Vec<Hit>> {
        let pieces = &self.thread(tid)?.armed.pieces;
        if pieces.len() == 1 { self.hits_of(tid, pieces) } else { Ok(Vec::new()) }
    }

    /// The watchpoints of these parts of a thread's memory, each once.
    fn hits_of(&self, tid: Tid, fired: &[Piece]) -> Result<Vec<Hit>> {
        let watches = &self.space_of(self.thread(tid)?.pid)?.watches;
        let mut hits: Vec<Hit> = Vec::new();
        for piece in fired {
            for id in watches.watching(piece) {
                if hits.iter().all(|hit| hit.0 != id) {
                    hits.push((id, Address(piece.address)));
                }
            }
        }
        Ok(hits)
    }
}
