use insn::x86::Reg;

use crate::{Address, Arch};

/// The general registers of a thread, as it sees them: the pc is never in a slot.
#[derive(Clone, Copy)]
pub struct Registers {
    pub(crate) raw: libc::user_regs_struct,
}

impl Registers {
    /// The address of the next instruction to execute.
    pub fn pc(&self) -> Address {
        Address(self.raw.rip)
    }
    /// The stack pointer.
    pub fn sp(&self) -> Address {
        Address(self.raw.rsp)
    }
    /// Sets the address of the next instruction to execute.
    pub fn set_pc(&mut self, pc: Address) {
        self.raw.rip = pc.0;
    }
    /// The architecture that the thread executes, by its code segment.
    pub fn arch(&self) -> Arch {
        // The kernel's __USER32_CS (arch/x86/include/asm/segment.h).
        if self.raw.cs == 0x23 { Arch::I386 } else { Arch::X86_64 }
    }
    /// The value of `reg`; `None` for what is not a general register, selector, segment base, pc or flags.
    pub fn get(&self, reg: Reg) -> Option<u64> {
        let mut raw = self.raw;
        field(&mut raw, reg).map(|value| *value)
    }
    /// Sets `reg`, and says whether there is such a register here.
    pub fn set(&mut self, reg: Reg, value: u64) -> bool {
        match field(&mut self.raw, reg) {
            Some(place) => {
                *place = value;
                true
            }
            None => false,
        }
    }
    /// As the kernel lays them out (sys/user.h).
    pub fn raw(&self) -> &libc::user_regs_struct {
        &self.raw
    }
}

/// Where `reg` lies.
pub(crate) fn field(raw: &mut libc::user_regs_struct, reg: Reg) -> Option<&mut u64> {
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

impl std::fmt::Debug for Registers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Registers");
        for reg in (0..16).map(Reg::gpr).chain([Reg::RIP, Reg::FLAGS]) {
            if let Some(value) = self.get(reg) {
                out.field(&reg.to_string(), &format_args!("{value:#x}"));
            }
        }
        out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_general_register_is_its_own_place() {
        // SAFETY: all-zero bytes are a valid value of this plain C struct.
        let mut registers = Registers { raw: unsafe { std::mem::zeroed() } };
        for n in 0..16 {
            assert!(registers.set(Reg::gpr(n), u64::from(n) + 1));
        }
        for n in 0..16 {
            assert_eq!(registers.get(Reg::gpr(n)), Some(u64::from(n) + 1));
        }
        assert_eq!(registers.get(Reg::vector(0)), None);
    }
}
