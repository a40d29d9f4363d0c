//! The debug registers (SDM vol. 3B, 18.2), through the offsets of `struct user` (sys/user.h).

use std::mem::offset_of;

use super::cpu::linear_address_bits;
use super::registers::{peek_user, poke_user};
use crate::ptrace::sys::SigInfo;
use crate::ptrace::watch::piece::Piece;
use crate::{Access, Error, Result, Tid, WatchReason};

/// DR0 to DR3.
const REGISTERS: usize = 4;
const STATUS: usize = 6;
const CONTROL: usize = 7;
/// `si_code` of a trap by a debug register (asm-generic/siginfo.h).
const TRAP_HWBKPT: i32 = 4;
/// The first address that no program can have (`TASK_SIZE_MAX`, arch/x86/include/asm/page_64.h).
fn first_of_kernel() -> u64 {
    (1 << (linear_address_bits() - 1)) - 4096
}

fn offset(register: usize) -> usize {
    offset_of!(libc::user, u_debugreg) + 8 * register
}

/// Whether debug registers alone raised a `SIGTRAP`.
pub(in crate::ptrace) fn is_watch(info: &SigInfo) -> bool {
    info.si_code() == TRAP_HWBKPT
}

/// Whether the processor reports an access before it is made.
pub(in crate::ptrace) const BEFORE_ACCESS: bool = false;

/// Whether accesses of two kinds are observed by the same registers.
pub(in crate::ptrace) fn share_registers(_: Access, _: Access) -> bool {
    true
}

/// The number of registers for an access.
pub(in crate::ptrace) fn debug_registers(_: Tid, _: Access) -> Result<usize> {
    Ok(REGISTERS)
}

/// The registers' parts of a range: 1, 2, 4 or 8 bytes, aligned to their length.
pub(in crate::ptrace) fn split(address: u64, length: u64, access: Access) -> Result<Vec<Piece>, WatchReason> {
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

/// The bits of DR7 for register `number`.
fn control(number: usize, piece: &Piece) -> u64 {
    let access = match piece.access {
        Access::Execute => 0b00,
        Access::Write => 0b01,
        Access::ReadWrite => 0b11,
    };
    let length = match piece.length {
        2 => 0b01,
        8 => 0b10,
        4 => 0b11,
        _ => 0b00,
    };
    1 << (2 * number) | (access | length << 2) << (16 + 4 * number)
}

/// Makes the debug registers of a stopped thread observe `pieces`, and nothing else.
pub(in crate::ptrace) fn set_debug_registers(tid: Tid, pieces: &[Piece]) -> Result<()> {
    let occupied = |error| match error {
        Error::System { ref source, .. } if matches!(source.raw_os_error(), Some(libc::ENOSPC | libc::EBUSY)) => {
            Error::DebugRegisters(tid)
        }
        other => other,
    };
    let set = |register, value| poke_user(tid, offset(register), value).map_err(occupied);
    // The kernel checks an address with the length that the register has: any length fits address 0.
    for (number, _) in pieces.iter().enumerate() {
        set(number, 0)?;
    }
    let enabled = pieces.iter().enumerate().fold(0, |bits, (number, piece)| bits | control(number, piece));
    set(CONTROL, enabled)?;
    pieces.iter().enumerate().try_for_each(|(number, piece)| set(number, piece.address))
}

/// The pieces whose registers have raised the last debug exception of a thread (DR6), each once.
pub(in crate::ptrace) fn take_fired(tid: Tid, pieces: &[Piece], _: u64) -> Result<Vec<Piece>> {
    let status = peek_user(tid, offset(STATUS))?;
    if status & ((1 << REGISTERS) - 1) == 0 {
        return Ok(Vec::new());
    }
    poke_user(tid, offset(STATUS), 0)?;
    let fired = pieces.iter().enumerate().filter(|(number, _)| status >> number & 1 != 0);
    Ok(fired.map(|(_, piece)| *piece).collect())
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

    #[test]
    fn the_control_register_has_kind_and_length_of_each_register() {
        let piece = |length, access| Piece { address: 0, length, access };
        assert_eq!(control(0, &piece(8, Access::Write)), 0x9_0001);
        assert_eq!(control(1, &piece(4, Access::ReadWrite)), 0xf0_0004);
        assert_eq!(control(3, &piece(1, Access::Execute)), 0x40);
        assert_eq!(control(2, &piece(2, Access::Write)), 0x500_0010);
    }
}
