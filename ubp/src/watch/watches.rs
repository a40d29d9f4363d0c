//! The watchpoints of one address space.

use super::arch;
use super::piece::Piece;
use super::watchpoint::{Access, WatchId, WatchReason};
use crate::Address;

/// A watchpoint that a thread ran into, and the address by which.
pub(crate) type Hit = (WatchId, Address);

/// The watchpoints of an address space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    list: Vec<(WatchId, Vec<Piece>)>,
    next: u32,
    /// A number that grows with every change.
    pub(crate) epoch: u64,
}

impl Watches {
    /// The watchpoints after an exec: none, and no id is used again.
    pub(crate) fn of_new_program(&self) -> Watches {
        Watches { next: self.next, ..Watches::default() }
    }

    /// The contents of the debug registers: pieces that several watchpoints have need one register.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        let mut all = Vec::new();
        for piece in self.list.iter().flat_map(|(_, pieces)| pieces) {
            if !all.contains(piece) {
                all.push(*piece);
            }
        }
        all
    }

    /// Adds a watchpoint. `present`: the number of debug registers for such an access.
    pub(crate) fn add(
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
    pub(crate) fn remove(&mut self, id: WatchId) -> bool {
        let before = self.list.len();
        self.list.retain(|(other, _)| *other != id);
        let is_removed = self.list.len() != before;
        self.epoch += u64::from(is_removed);
        is_removed
    }

    /// The watchpoints that a piece belongs to.
    pub(crate) fn watching(&self, piece: &Piece) -> impl Iterator<Item = WatchId> {
        self.list.iter().filter(move |(_, pieces)| pieces.contains(piece)).map(|(id, _)| *id)
    }

    /// Whether reads or writes are observed.
    pub(crate) fn observe_memory(&self) -> bool {
        self.list.iter().flat_map(|(_, pieces)| pieces).any(|piece| piece.access != Access::Execute)
    }

    /// The watchpoints that an access of the tracer in a thread's name touches.
    pub(crate) fn touched(&self, address: u64, length: usize, is_write: bool) -> Vec<Hit> {
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
