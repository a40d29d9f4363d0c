//! The debug registers (SDM vol. 3B, 18.2), through the offsets of `struct user` (sys/user.h).

use std::mem::offset_of;

use super::registers::{peek_user, poke_user};
use crate::ptrace::sys::SigInfo;
use crate::watch::{Piece, REGISTERS};
use crate::{Access, Error, Result, Tid};

const STATUS: usize = 6;
const CONTROL: usize = 7;
/// `si_code` of a trap by a debug register (asm-generic/siginfo.h).
const TRAP_HWBKPT: i32 = 4;

fn offset(register: usize) -> usize {
    offset_of!(libc::user, u_debugreg) + 8 * register
}

/// Whether debug registers alone raised a `SIGTRAP`.
pub(in crate::ptrace) fn is_watch(info: &SigInfo) -> bool {
    info.si_code() == TRAP_HWBKPT
}

/// Whether the processor reports an access before it is made.
pub(in crate::ptrace) const BEFORE_ACCESS: bool = false;

/// The number of registers for an access.
pub(in crate::ptrace) fn debug_registers(_: Tid, _: Access) -> Result<usize> {
    Ok(REGISTERS)
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

    #[test]
    fn the_control_register_has_kind_and_length_of_each_register() {
        let piece = |length, access| Piece { address: 0, length, access };
        assert_eq!(control(0, &piece(8, Access::Write)), 0x9_0001);
        assert_eq!(control(1, &piece(4, Access::ReadWrite)), 0xf0_0004);
        assert_eq!(control(3, &piece(1, Access::Execute)), 0x40);
        assert_eq!(control(2, &piece(2, Access::Write)), 0x500_0010);
    }
}
