use crate::arch::{self, Reg};
use crate::{Address, Arch};

/// The general registers of a thread, as the program sees them: the pc is never in a slot.
#[derive(Clone, Copy)]
pub struct Registers {
    pub(crate) raw: libc::user_regs_struct,
}

impl Registers {
    /// The address of the next instruction to execute.
    pub fn pc(&self) -> Address {
        Address(arch::pc(&self.raw))
    }
    /// The stack pointer.
    pub fn sp(&self) -> Address {
        Address(arch::sp(&self.raw))
    }
    /// Sets the address of the next instruction to execute.
    pub fn set_pc(&mut self, pc: Address) {
        arch::set_pc(&mut self.raw, pc.0);
    }
    /// The architecture that the thread executes.
    pub fn arch(&self) -> Arch {
        arch::arch(&self.raw)
    }
    /// The value of a general register, the stack pointer, the pc, the flags, or on x86 a selector or segment base; `None` for other
    /// registers.
    pub fn get(&self, reg: Reg) -> Option<u64> {
        arch::get(&self.raw, reg)
    }
    /// Sets a register that [`Registers::get`] knows; returns `false` for others.
    pub fn set(&mut self, reg: Reg, value: u64) -> bool {
        arch::set(&mut self.raw, reg, value)
    }
    /// The registers in the kernel's layout (sys/user.h).
    pub fn raw(&self) -> &libc::user_regs_struct {
        &self.raw
    }
}

impl std::fmt::Debug for Registers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Registers");
        for reg in arch::SHOWN {
            if let Some(value) = self.get(reg) {
                out.field(&reg.to_string(), &format_args!("{value:#x}"));
            }
        }
        out.finish()
    }
}
