//! The debug registers (Arm ARM, D2.9 and D2.10), through `struct user_hwdebug_state` (arch/arm64/include/uapi/asm/ptrace.h).

use crate::ptrace::sys::{self, SigInfo};
use crate::watch::{Piece, REGISTERS};
use crate::{Access, Error, Result, Tid};

/// Sets of debug registers (linux/elf.h).
const NT_ARM_HW_BREAK: i32 = 0x402;
const NT_ARM_HW_WATCH: i32 = 0x403;
/// Bytes of the header, whose first byte is the number of registers, and of a register: address, control, padding.
const HEADER: usize = 8;
const REGISTER: usize = 16;
/// `si_code` of a trap by a debug register (asm-generic/siginfo.h).
const TRAP_HWBKPT: i32 = 4;
/// How far below a watched address the processor may report an access that touches it: the size of a block of `dc zva`.
const BLOCK: u64 = 2048;

/// Whether debug registers alone raised a `SIGTRAP`.
pub(in crate::ptrace) fn is_watch(info: &SigInfo) -> bool {
    info.si_code() == TRAP_HWBKPT
}

/// Whether the processor reports an access before it is made.
pub(in crate::ptrace) const BEFORE_ACCESS: bool = true;

fn set_of(access: Access) -> i32 {
    if access == Access::Execute { NT_ARM_HW_BREAK } else { NT_ARM_HW_WATCH }
}

/// The number of registers for an access.
pub(in crate::ptrace) fn debug_registers(tid: Tid, access: Access) -> Result<usize> {
    present(tid, set_of(access))
}

fn present(tid: Tid, set: i32) -> Result<usize> {
    let mut raw = [0; HEADER + REGISTERS * REGISTER];
    sys::register_set(tid, set, &mut raw)?;
    Ok(usize::from(raw[0]).min(REGISTERS))
}

/// The control word of a register: enabled (bit 0), for user code (bits 2:1), kind (bits 4:3), bytes (from bit 5).
fn control(piece: &Piece) -> u32 {
    let kind = match piece.access {
        Access::Execute => 0b00,
        Access::Write => 0b10,
        Access::ReadWrite => 0b11,
    };
    let bytes = (1_u32 << piece.length) - 1;
    1 | 0b10 << 1 | kind << 3 | bytes << 5
}

/// Makes the debug registers of a stopped thread observe `pieces`, and nothing else.
pub(in crate::ptrace) fn set_debug_registers(tid: Tid, pieces: &[Piece]) -> Result<()> {
    for set in [NT_ARM_HW_WATCH, NT_ARM_HW_BREAK] {
        let number = present(tid, set)?;
        let mut raw = vec![0; HEADER + number * REGISTER];
        let wanted = pieces.iter().filter(|piece| set_of(piece.access) == set);
        for (place, piece) in raw.get_mut(HEADER..).unwrap_or_default().chunks_exact_mut(REGISTER).zip(wanted) {
            let (address, rest) = place.split_at_mut(8);
            address.copy_from_slice(&piece.address.to_ne_bytes());
            rest[..4].copy_from_slice(&control(piece).to_ne_bytes());
        }
        sys::set_register_set(tid, set, &raw).map_err(|error| match error {
            Error::System { ref source, .. } if source.raw_os_error() == Some(libc::ENOSPC) => {
                Error::DebugRegisters(tid)
            }
            other => other,
        })?;
    }
    Ok(())
}

/// The pieces that an access at `trigger` touches, or an instruction there.
pub(in crate::ptrace) fn take_fired(_: Tid, pieces: &[Piece], trigger: u64) -> Result<Vec<Piece>> {
    let touched: Vec<Piece> = pieces.iter().copied().filter(|piece| piece.overlaps(trigger, 1)).collect();
    if !touched.is_empty() {
        return Ok(touched);
    }
    // A wide access is reported by an address below the watched bytes.
    let above = |piece: &&Piece| piece.access != Access::Execute && piece.address.wrapping_sub(trigger) < BLOCK;
    Ok(pieces.iter().filter(above).min_by_key(|piece| piece.address).copied().into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_word_has_kind_and_bytes() {
        let piece = |length, access| Piece { address: 0, length, access };
        assert_eq!(control(&piece(8, Access::Write)), 0xff << 5 | 0b10 << 3 | 0b101);
        assert_eq!(control(&piece(1, Access::ReadWrite)), 1 << 5 | 0b11 << 3 | 0b101);
        assert_eq!(control(&piece(4, Access::Execute)), 0xf << 5 | 0b101);
    }
}
