//! A thread's registers for the emulation.

use insn::x86::{Flags, Reg};
use libc::user_regs_struct;

use super::shadow_stack;
use crate::{Result, Tid, arch, cpu};

/// Flags that ptrace can set (arch/x86/kernel/ptrace.c, FLAG_MASK).
const SETTABLE: u32 = 0x5_4dd5;

/// The registers of a thread, and its shadow stack pointer.
pub(in crate::ptrace) struct Emulated {
    raw: user_regs_struct,
    ssp: Option<u64>,
    /// The pointer before the emulation.
    before: Option<u64>,
}

impl Emulated {
    /// The registers of a stopped thread; `raw` are its general registers.
    pub(in crate::ptrace) fn new(tid: Tid, raw: user_regs_struct, _: bool) -> Emulated {
        let ssp = shadow_stack::pointer(tid);
        Emulated { raw, ssp, before: ssp }
    }

    pub(in crate::ptrace) fn raw(&self) -> &user_regs_struct {
        &self.raw
    }

    /// Writes the registers to the thread.
    pub(in crate::ptrace) fn store(&self, tid: Tid) -> Result<()> {
        super::write(tid, &self.raw)?;
        match self.ssp.filter(|_| self.ssp != self.before) {
            Some(now) => shadow_stack::set_pointer(tid, now),
            None => Ok(()),
        }
    }
}

impl stepping::x86::Registers for Emulated {
    fn get(&self, reg: Reg) -> u64 {
        if reg == Reg::SSP {
            return self.ssp.unwrap_or(0);
        }
        arch::get(&self.raw, reg).unwrap_or(0)
    }
    fn set(&mut self, reg: Reg, value: u64) {
        if reg == Reg::SSP {
            self.ssp = Some(value);
        } else {
            arch::set(&mut self.raw, reg, value);
        }
    }
    fn shadow_stack(&self) -> bool {
        self.ssp.is_some()
    }
    fn linear_address_bits(&self) -> u32 {
        cpu::linear_address_bits()
    }
    fn settable_flags(&self) -> Flags {
        Flags::from_bits(SETTABLE)
    }
}
