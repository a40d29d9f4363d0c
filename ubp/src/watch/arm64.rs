//! What the debug registers of arm64 can observe (Arm ARM, D2.9 and D2.10).

use super::piece::Piece;
use super::watchpoint::{Access, WatchReason};

/// The largest number of registers for breakpoints, and for watchpoints.
pub(crate) const REGISTERS: usize = 16;
/// The first address that no program can have: 52 bits at most.
const KERNEL: u64 = 1 << 52;
/// The length of an instruction.
const INSTRUCTION: u64 = 4;

/// Whether accesses of two kinds are observed by the same registers.
pub(super) fn share_registers(a: Access, b: Access) -> bool {
    (a == Access::Execute) == (b == Access::Execute)
}

/// The registers' parts of a range: any bytes of 8 aligned ones.
pub(super) fn split(address: u64, length: u64, access: Access) -> Result<Vec<Piece>, WatchReason> {
    let end = address.checked_add(length).filter(|&end| end <= KERNEL).ok_or(WatchReason::NotMemory)?;
    if access == Access::Execute {
        return match (length, address % INSTRUCTION) {
            (INSTRUCTION, 0) => Ok(vec![Piece { address, length: INSTRUCTION as u8, access }]),
            (INSTRUCTION, _) => Err(WatchReason::Misaligned { alignment: INSTRUCTION }),
            _ => Err(WatchReason::Length { possible: INSTRUCTION }),
        };
    }
    if length == 0 {
        return Err(WatchReason::Length { possible: 1 });
    }
    let mut pieces = Vec::new();
    let mut at = address;
    while at < end && pieces.len() <= REGISTERS {
        let next = (at / 8 * 8 + 8).min(end);
        pieces.push(Piece { address: at, length: (next - at) as u8, access });
        at = next;
    }
    if at < end {
        let needed = pieces.len() + ((end - at).div_ceil(8)) as usize;
        return Err(WatchReason::NoneFree { needed, present: REGISTERS, holders: Vec::new() });
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_split_at_every_eighth_byte() {
        let pieces = split(0x1003, 7, Access::Write).unwrap();
        let lengths: Vec<(u64, u8)> = pieces.iter().map(|piece| (piece.address, piece.length)).collect();
        assert_eq!(lengths, [(0x1003, 5), (0x1008, 2)]);
        assert_eq!(split(0x1002, 4, Access::Execute), Err(WatchReason::Misaligned { alignment: 4 }));
        assert_eq!(split(0x1000, 1, Access::Execute), Err(WatchReason::Length { possible: 4 }));
        assert_eq!(split(0x1000, 0, Access::Write), Err(WatchReason::Length { possible: 1 }));
        assert_eq!(split(u64::MAX, 8, Access::Write), Err(WatchReason::NotMemory));
    }
}
