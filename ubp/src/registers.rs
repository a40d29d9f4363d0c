use crate::arch::{self, Reg};
use crate::{Address, Arch};

/// The general registers of a thread, as it sees them: the pc is never in a slot.
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
    /// The value of `reg`; `None` for what is not a general register, stack pointer, pc or flags, or on x86 selector or segment
    /// base.
    pub fn get(&self, reg: Reg) -> Option<u64> {
        arch::get(&self.raw, reg)
    }
    /// Sets `reg`, and says whether there is such a register here.
    pub fn set(&mut self, reg: Reg, value: u64) -> bool {
        arch::set(&mut self.raw, reg, value)
    }
    /// As the kernel lays them out (sys/user.h).
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
