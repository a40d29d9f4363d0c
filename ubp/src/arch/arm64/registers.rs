//! The general registers as ptrace(2) shows them (`struct user_pt_regs`, arch/arm64/include/uapi/asm/ptrace.h).

use insn::arm64::Reg;
use libc::user_regs_struct;

use crate::Arch;

/// ELF class and machine of supported programs (EM_AARCH64).
pub(crate) const MACHINES: [(u8, u16, Arch); 1] = [(2, 183, Arch::Arm64)];
/// Registers that are shown to users.
pub(crate) const SHOWN: [Reg; 34] = {
    let mut shown = [Reg::SP; 34];
    let mut number = 0;
    while number < 31 {
        shown[number as usize] = Reg::general(number);
        number += 1;
    }
    shown[32] = Reg::PC;
    shown[33] = Reg::NZCV;
    shown
};
/// The condition flags in PSTATE, at the positions of the register NZCV (Arm ARM, C5.2.10).
const NZCV: u64 = 0xf << 28;

/// The register that holds the goroutine of a thread (Go's src/cmd/compile/abi-internal.md).
pub(crate) const GOROUTINE: Reg = Reg::general(28);

/// The registers of the first integer arguments (AAPCS64).
pub(crate) const ARGUMENTS: [Reg; 6] =
    [Reg::general(0), Reg::general(1), Reg::general(2), Reg::general(3), Reg::general(4), Reg::general(5)];
/// The stack pointer.
pub(crate) const STACK: Reg = Reg::SP;

pub(crate) fn pc(raw: &user_regs_struct) -> u64 {
    raw.pc
}

pub(crate) fn set_pc(raw: &mut user_regs_struct, pc: u64) {
    raw.pc = pc;
}

pub(crate) fn sp(raw: &user_regs_struct) -> u64 {
    raw.sp
}

/// Where the function returns at whose first instruction the thread is: the address, and the stack pointer then.
pub(crate) fn way_back(raw: &user_regs_struct, _: impl FnOnce(u64) -> Option<u64>) -> Option<(u64, u64)> {
    Some((raw.regs[30], raw.sp))
}

/// The architecture that the thread executes.
pub(crate) fn arch(_: &user_regs_struct) -> Arch {
    Arch::Arm64
}

/// The value of a general register, sp, pc or the flags; `None` for other registers.
pub(crate) fn get(raw: &user_regs_struct, reg: Reg) -> Option<u64> {
    match reg {
        Reg::SP => Some(raw.sp),
        Reg::PC => Some(raw.pc),
        Reg::NZCV => Some(raw.pstate & NZCV),
        Reg::XZR => Some(0),
        _ => raw.regs.get(usize::from(reg.as_general()?)).copied(),
    }
}

/// Whether a condition can compare a register in programs of an architecture. The zero register never changes.
pub(crate) fn is_comparable(reg: Reg, _: Arch) -> bool {
    // SAFETY: all-zero bytes are a valid value of this plain C struct.
    let raw: user_regs_struct = unsafe { std::mem::zeroed() };
    reg != Reg::XZR && get(&raw, reg).is_some()
}

/// Sets a register that [`get`] knows; returns `false` for others.
pub(crate) fn set(raw: &mut user_regs_struct, reg: Reg, value: u64) -> bool {
    match reg {
        Reg::SP => raw.sp = value,
        Reg::PC => raw.pc = value,
        Reg::NZCV => raw.pstate = raw.pstate & !NZCV | value & NZCV,
        Reg::XZR => {}
        _ => match reg.as_general().and_then(|number| raw.regs.get_mut(usize::from(number))) {
            Some(place) => *place = value,
            None => return false,
        },
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_general_register_is_its_own_place() {
        // SAFETY: all-zero bytes are a valid value of this plain C struct.
        let mut raw: user_regs_struct = unsafe { std::mem::zeroed() };
        let all = SHOWN.into_iter().filter(|&reg| reg != Reg::NZCV);
        for (value, reg) in (1..).zip(all.clone()) {
            assert!(set(&mut raw, reg, value));
        }
        for (value, reg) in (1..).zip(all) {
            assert_eq!(get(&raw, reg), Some(value), "{reg}");
        }
        assert_eq!((raw.regs[30], raw.sp, raw.pc), (31, 32, 33));
        assert_eq!(get(&raw, Reg::vector(0)), None);
    }

    #[test]
    fn the_flags_are_all_of_the_processors_state_that_can_be_set() {
        // SAFETY: all-zero bytes are a valid value of this plain C struct.
        let mut raw: user_regs_struct = unsafe { std::mem::zeroed() };
        raw.pstate = 0x400;
        assert!(set(&mut raw, Reg::NZCV, u64::MAX));
        assert_eq!((raw.pstate, get(&raw, Reg::NZCV)), (0xf000_0400, Some(0xf000_0000)));
    }
}
