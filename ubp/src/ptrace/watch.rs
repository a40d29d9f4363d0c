//! Watchpoints of one address space, and the debug registers that observe them.

use super::arch;
use super::status::Status;
use super::tracees::Tracees;
use crate::{Access, Address, Error, Pid, Result, Tid, WatchError, WatchId, WatchReason};

/// What one debug register observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) address: u64,
    /// Bytes, at most 8.
    pub(super) length: u8,
    pub(super) access: Access,
}

impl Piece {
    /// Whether an access to `length` bytes at `address` touches the piece.
    pub(super) fn overlaps(&self, address: u64, length: u64) -> bool {
        let (end, other) = (self.address.saturating_add(u64::from(self.length)), address.saturating_add(length));
        self.address < other && address < end
    }
}

/// A watchpoint that a thread ran into, and the address by which.
pub(super) type Hit = (WatchId, Address);

/// The watchpoints of an address space.
#[derive(Clone, Debug, Default)]
pub(super) struct Watches {
    list: Vec<(WatchId, Vec<Piece>)>,
    next: u32,
    /// A number that grows with every change.
    epoch: u64,
}

impl Watches {
    /// The watchpoints after an exec: none, and no id is used again.
    pub(super) fn of_new_program(&self) -> Watches {
        Watches { next: self.next, ..Watches::default() }
    }

    /// The contents of the debug registers: pieces that several watchpoints have need one register.
    pub(super) fn pieces(&self) -> Vec<Piece> {
        let mut all = Vec::new();
        for piece in self.list.iter().flat_map(|(_, pieces)| pieces) {
            if !all.contains(piece) {
                all.push(*piece);
            }
        }
        all
    }

    /// Adds a watchpoint. `present`: the number of debug registers for such an access.
    fn add(
        &mut self,
        address: u64,
        length: u64,
        access: Access,
        present: usize,
    ) -> std::result::Result<WatchId, WatchReason> {
        let wanted = arch::split(address, length, access)?;
        let in_bank = |piece: &Piece| arch::share_registers(piece.access, access);
        let used: Vec<Piece> = self.pieces().into_iter().filter(in_bank).collect();
        let needed = wanted.iter().filter(|piece| !used.contains(piece)).count();
        if used.len() + needed > present {
            let holds = |(_, pieces): &&(WatchId, Vec<Piece>)| pieces.iter().any(in_bank);
            let holders = self.list.iter().filter(holds).map(|(id, _)| *id).collect();
            return Err(WatchReason::NoneFree { needed, present, holders });
        }
        let id = WatchId(self.next);
        self.next += 1;
        self.epoch += 1;
        self.list.push((id, wanted));
        Ok(id)
    }

    /// Removes a watchpoint; returns whether there was one.
    pub(super) fn remove(&mut self, id: WatchId) -> bool {
        let before = self.list.len();
        self.list.retain(|(other, _)| *other != id);
        let is_removed = self.list.len() != before;
        self.epoch += u64::from(is_removed);
        is_removed
    }

    /// The watchpoints that a piece belongs to.
    fn watching(&self, piece: &Piece) -> impl Iterator<Item = WatchId> {
        self.list.iter().filter(move |(_, pieces)| pieces.contains(piece)).map(|(id, _)| *id)
    }

    /// Whether reads or writes are observed.
    pub(super) fn observe_memory(&self) -> bool {
        self.list.iter().flat_map(|(_, pieces)| pieces).any(|piece| piece.access != Access::Execute)
    }

    /// The watchpoints that an access of the tracer in a thread's name touches.
    pub(super) fn touched(&self, address: u64, length: usize, is_write: bool) -> Vec<Hit> {
        let observes = |piece: &&Piece| match piece.access {
            Access::Write => is_write,
            Access::ReadWrite => true,
            Access::Execute => false,
        };
        let touches = |piece: &&Piece| observes(piece) && piece.overlaps(address, length as u64);
        let first = |pieces: &[Piece]| pieces.iter().find(touches).map(|piece| Address(piece.address));
        self.list.iter().filter_map(|(id, pieces)| Some((*id, first(pieces)?))).collect()
    }
}

/// Whether a thread has the debug registers that its memory's watchpoints want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Wanted,
    /// Not while the thread passes, by one step, an access that the processor reports before it is made.
    Passing,
    /// Not while the thread runs a function for the tracer.
    Suspended,
}

/// The debug registers of a thread.
#[derive(Debug, Default)]
pub(super) struct Armed {
    /// The [`Watches::epoch`] that the contents have.
    epoch: u64,
    pieces: Vec<Piece>,
    mode: Mode,
}

impl Armed {
    /// Whether a debug register observes anything.
    pub(super) fn is_any(&self) -> bool {
        !self.pieces.is_empty()
    }

    pub(super) fn is_passing(&self) -> bool {
        self.mode == Mode::Passing
    }

    /// The thread has no debug registers until the end of its next step.
    pub(super) fn begin_pass(&mut self) {
        self.mode = Mode::Passing;
    }

    /// Returns whether the thread was passing an access, and ends that.
    pub(super) fn end_pass(&mut self) -> bool {
        let is_passing = self.is_passing();
        if is_passing {
            self.mode = Mode::Wanted;
        }
        is_passing
    }

    /// The thread has no debug registers until [`Armed::end_suspension`], which takes the result.
    pub(super) fn suspend(&mut self) -> Mode {
        std::mem::replace(&mut self.mode, Mode::Suspended)
    }

    pub(super) fn end_suspension(&mut self, before: Mode) {
        self.mode = before;
    }

    /// Whether accesses of the thread are hits.
    pub(super) fn is_observed(&self) -> bool {
        self.mode != Mode::Suspended
    }
}

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
        if thread.armed.epoch == watches.epoch || thread.armed.mode != Mode::Wanted {
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
        let fired = arch::take_fired(tid, &thread.armed.pieces, trigger)?;
        let watches = &self.space_of(thread.pid)?.watches;
        let mut hits: Vec<Hit> = Vec::new();
        for piece in fired {
            for id in watches.watching(&piece) {
                if hits.iter().all(|hit| hit.0 != id) {
                    hits.push((id, Address(piece.address)));
                }
            }
        }
        Ok(hits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watchpoints_of_the_same_bytes_share_a_register() {
        let mut watches = Watches::default();
        let first = watches.add(0x1000, 8, Access::Write, 1).unwrap();
        let second = watches.add(0x1000, 8, Access::Write, 1).unwrap();
        assert_eq!(watches.pieces().len(), 1);
        let refused = watches.add(0x1008, 1, Access::Write, 1);
        let holders = vec![first, second];
        assert_eq!(refused, Err(WatchReason::NoneFree { needed: 1, present: 1, holders }));
        assert!(watches.remove(first) && !watches.remove(first));
        assert_eq!(watches.pieces().len(), 1);
        assert!(watches.remove(second));
        assert!(watches.pieces().is_empty());
        assert!(watches.add(0x1008, 1, Access::Write, 1).unwrap() > second);
    }

    #[test]
    fn only_accesses_of_the_watched_kind_and_bytes_are_hits() {
        let mut watches = Watches::default();
        let writes = watches.add(0x1000, 4, Access::Write, 4).unwrap();
        let both = watches.add(0x1008, 4, Access::ReadWrite, 4).unwrap();
        assert_eq!(watches.touched(0xffc, 8, true), [(writes, Address(0x1000))]);
        assert_eq!(watches.touched(0x1000, 4, false), []);
        assert_eq!(watches.touched(0x100b, 1, false), [(both, Address(0x1008))]);
        assert_eq!(watches.touched(0x1004, 4, true), []);
        assert_eq!(watches.touched(0x1000, 16, true).len(), 2);
    }
}
