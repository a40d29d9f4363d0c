//! What the debug registers of x86 can observe (SDM vol. 3B, 18.2).

use super::piece::Piece;
use super::watchpoint::{Access, WatchReason};
use crate::cpu::linear_address_bits;

/// DR0 to DR3.
pub(crate) const REGISTERS: usize = 4;

/// The first address that no program can have (`TASK_SIZE_MAX`, arch/x86/include/asm/page_64.h).
fn first_of_kernel() -> u64 {
    (1 << (linear_address_bits() - 1)) - 4096
}

/// Whether accesses of two kinds are observed by the same registers.
pub(super) fn share_registers(_: Access, _: Access) -> bool {
    true
}

/// The registers' parts of a range: 1, 2, 4 or 8 bytes, aligned to their length.
pub(super) fn split(address: u64, length: u64, access: Access) -> Result<Vec<Piece>, WatchReason> {
    let end = address.checked_add(length).filter(|&end| end <= first_of_kernel()).ok_or(WatchReason::NotMemory)?;
    if access == Access::Execute && length != 1 || length == 0 {
        return Err(WatchReason::Length { possible: 1 });
    }
    let mut pieces = Vec::new();
    let mut at = address;
    while at < end && pieces.len() <= REGISTERS {
        let largest = [8, 4, 2, 1].into_iter().find(|size| at % size == 0 && at + size <= end).unwrap_or(1);
        pieces.push(Piece { address: at, length: largest as u8, access });
        at += largest;
    }
    // A longer range has more pieces than there are registers; their exact number only names the refusal.
    if at < end {
        let needed = pieces.len() + ((end - at).div_ceil(8)) as usize;
        return Err(WatchReason::NoneFree { needed, present: REGISTERS, holders: Vec::new() });
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(address: u64, length: u64) -> Vec<(u64, u8)> {
        let pieces = split(address, length, Access::Write).unwrap();
        pieces.iter().map(|piece| (piece.address, piece.length)).collect()
    }

    #[test]
    fn a_range_is_split_into_aligned_pieces() {
        assert_eq!(lengths(0x1000, 8), [(0x1000, 8)]);
        assert_eq!(lengths(0x1003, 7), [(0x1003, 1), (0x1004, 4), (0x1008, 2)]);
        assert_eq!(lengths(0x1001, 3), [(0x1001, 1), (0x1002, 2)]);
        assert_eq!(lengths(0x1000, 32), [(0x1000, 8), (0x1008, 8), (0x1010, 8), (0x1018, 8)]);
    }

    #[test]
    fn what_no_register_can_observe_is_refused_by_name() {
        let none = |needed| Err(WatchReason::NoneFree { needed, present: 4, holders: Vec::new() });
        assert_eq!(split(0x1000, 48, Access::Write), none(6));
        assert_eq!(split(0x1000, 0, Access::Write), Err(WatchReason::Length { possible: 1 }));
        assert_eq!(split(0x1000, 2, Access::Execute), Err(WatchReason::Length { possible: 1 }));
        assert_eq!(split(u64::MAX, 8, Access::Write), Err(WatchReason::NotMemory));
        assert_eq!(split(1 << 63, 1, Access::Write), Err(WatchReason::NotMemory));
    }
}
