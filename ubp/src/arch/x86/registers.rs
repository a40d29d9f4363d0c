//! The general registers as ptrace(2) shows them.

use insn::x86::Reg;
use libc::user_regs_struct;

use crate::Arch;

/// ELF class and machine of supported programs (EM_X86_64, EM_386; EM_X86_64 with ELFCLASS32 is x32).
pub(crate) const MACHINES: [(u8, u16, Arch); 2] = [(2, 62, Arch::X86_64), (1, 3, Arch::I386)];
/// The kernel's __USER32_CS (arch/x86/include/asm/segment.h).
pub(crate) const USER32_CS: u64 = 0x23;
/// Registers that are shown to users.
pub(crate) const SHOWN: [Reg; 18] = {
    let mut shown = [Reg::RIP; 18];
    let mut number = 0;
    while number < 16 {
        shown[number as usize] = Reg::gpr(number);
        number += 1;
    }
    shown[17] = Reg::FLAGS;
    shown
};

/// The register that holds the goroutine of a thread (Go's src/cmd/compile/abi-internal.md).
pub(crate) const GOROUTINE: Reg = Reg::gpr(14);

/// The registers of the first integer arguments (System V ABI for x86-64). 32-bit programs have them on the stack.
pub(crate) const ARGUMENTS: [Reg; 6] = [Reg::RDI, Reg::RSI, Reg::RDX, Reg::RCX, Reg::gpr(8), Reg::gpr(9)];
/// The stack pointer.
pub(crate) const STACK: Reg = Reg::gpr(4);

pub(crate) fn pc(raw: &user_regs_struct) -> u64 {
    raw.rip
}

pub(crate) fn set_pc(raw: &mut user_regs_struct, pc: u64) {
    raw.rip = pc;
}

pub(crate) fn sp(raw: &user_regs_struct) -> u64 {
    raw.rsp
}

/// Where the function returns at whose first instruction the thread is: the address, and the stack pointer then. `read` reads a word of
/// the program's width.
pub(crate) fn way_back(raw: &user_regs_struct, read: impl FnOnce(u64) -> Option<u64>) -> Option<(u64, u64)> {
    Some((read(raw.rsp)?, raw.rsp.wrapping_add(arch(raw).width() as u64)))
}

/// The architecture that the thread executes, by its code segment.
pub(crate) fn arch(raw: &user_regs_struct) -> Arch {
    if raw.cs == USER32_CS { Arch::I386 } else { Arch::X86_64 }
}

/// The value of a general register, selector, segment base, pc or flags; `None` for other registers.
pub(crate) fn get(raw: &user_regs_struct, reg: Reg) -> Option<u64> {
    let mut raw = *raw;
    field(&mut raw, reg).map(|value| *value)
}

/// Whether a condition can compare a register in programs of an architecture: 32-bit programs have eight general
/// registers.
pub(crate) fn is_comparable(reg: Reg, arch: Arch) -> bool {
    // SAFETY: all-zero bytes are a valid value of this plain C struct.
    let raw: user_regs_struct = unsafe { std::mem::zeroed() };
    get(&raw, reg).is_some() && (arch == Arch::X86_64 || !matches!(reg.number(), 8..=15))
}

/// Sets a register that [`get`] knows; returns `false` for others.
pub(crate) fn set(raw: &mut user_regs_struct, reg: Reg, value: u64) -> bool {
    field(raw, reg).map(|place| *place = value).is_some()
}

/// The field that holds `reg`.
fn field(raw: &mut user_regs_struct, reg: Reg) -> Option<&mut u64> {
    Some(match reg.number() {
        0 => &mut raw.rax,
        1 => &mut raw.rcx,
        2 => &mut raw.rdx,
        3 => &mut raw.rbx,
        4 => &mut raw.rsp,
        5 => &mut raw.rbp,
        6 => &mut raw.rsi,
        7 => &mut raw.rdi,
        8 => &mut raw.r8,
        9 => &mut raw.r9,
        10 => &mut raw.r10,
        11 => &mut raw.r11,
        12 => &mut raw.r12,
        13 => &mut raw.r13,
        14 => &mut raw.r14,
        15 => &mut raw.r15,
        _ if reg == Reg::RIP => &mut raw.rip,
        _ if reg == Reg::FLAGS => &mut raw.eflags,
        _ if reg == Reg::FS_BASE => &mut raw.fs_base,
        _ if reg == Reg::GS_BASE => &mut raw.gs_base,
        _ if reg == Reg::CS => &mut raw.cs,
        _ if reg == Reg::SS => &mut raw.ss,
        _ if reg == Reg::DS => &mut raw.ds,
        _ if reg == Reg::ES => &mut raw.es,
        _ if reg == Reg::FS => &mut raw.fs,
        _ if reg == Reg::GS => &mut raw.gs,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_general_register_is_its_own_place() {
        // SAFETY: all-zero bytes are a valid value of this plain C struct.
        let mut raw: user_regs_struct = unsafe { std::mem::zeroed() };
        for n in 0..16 {
            assert!(set(&mut raw, Reg::gpr(n), u64::from(n) + 1));
        }
        for n in 0..16 {
            assert_eq!(get(&raw, Reg::gpr(n)), Some(u64::from(n) + 1));
        }
        assert_eq!(get(&raw, Reg::vector(0)), None);
    }
}
