//! What debug registers observe.

use super::watchpoint::Access;

/// What one debug register observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    /// Bytes, at most 8.
    pub(crate) length: u8,
    pub(crate) access: Access,
}

impl Piece {
    /// Whether an access to `length` bytes at `address` touches the piece.
    pub(crate) fn overlaps(&self, address: u64, length: u64) -> bool {
        let (end, other) = (self.address.saturating_add(u64::from(self.length)), address.saturating_add(length));
        self.address < other && address < end
    }
}
