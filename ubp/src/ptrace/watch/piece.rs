//! What debug registers observe.

use crate::Access;

/// What one debug register observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptrace) struct Piece {
    pub(in crate::ptrace) address: u64,
    /// Bytes, at most 8.
    pub(in crate::ptrace) length: u8,
    pub(in crate::ptrace) access: Access,
}

impl Piece {
    /// Whether an access to `length` bytes at `address` touches the piece.
    pub(in crate::ptrace) fn overlaps(&self, address: u64, length: u64) -> bool {
        let (end, other) = (self.address.saturating_add(u64::from(self.length)), address.saturating_add(length));
        self.address < other && address < end
    }
}
