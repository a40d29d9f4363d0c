//! A thread's registers for the emulation.

use insn::arm64::Reg;
use libc::user_regs_struct;

use super::control_stack;
use super::registers::BTYPE;
use crate::{Result, Tid, arch};

/// The registers of a thread, and its control stack pointer.
pub(in crate::ptrace) struct Emulated {
    raw: user_regs_struct,
    guarded: bool,
    control_stack: Option<u64>,
    /// The pointer before the emulation.
    before: Option<u64>,
}

impl Emulated {
    /// The registers of a stopped thread; `raw` are its general registers. `guarded`: its site lies in a guarded page.
    pub(in crate::ptrace) fn new(tid: Tid, raw: user_regs_struct, guarded: bool) -> Emulated {
        let control_stack = control_stack::pointer(tid);
        Emulated { raw, guarded, control_stack, before: control_stack }
    }

    pub(in crate::ptrace) fn raw(&self) -> &user_regs_struct {
        &self.raw
    }

    /// Writes the registers to the thread.
    pub(in crate::ptrace) fn store(&self, tid: Tid) -> Result<()> {
        super::write(tid, &self.raw)?;
        match self.control_stack.filter(|_| self.control_stack != self.before) {
            Some(now) => control_stack::set_pointer(tid, now),
            None => Ok(()),
        }
    }
}

impl stepping::arm64::Registers for Emulated {
    fn get(&self, reg: Reg) -> u64 {
        if reg == Reg::GCSPR {
            return self.control_stack.unwrap_or(0);
        }
        arch::get(&self.raw, reg).unwrap_or(0)
    }
    fn set(&mut self, reg: Reg, value: u64) {
        if reg == Reg::GCSPR {
            self.control_stack = Some(value);
        } else {
            arch::set(&mut self.raw, reg, value);
        }
    }
    fn branch_type(&self) -> u8 {
        ((self.raw.pstate & BTYPE) >> BTYPE.trailing_zeros()) as u8
    }
    fn set_branch_type(&mut self, branch_type: u8) {
        self.raw.pstate = self.raw.pstate & !BTYPE | u64::from(branch_type) << BTYPE.trailing_zeros() & BTYPE;
    }
    fn guarded(&self) -> bool {
        self.guarded
    }
    fn control_stack(&self) -> bool {
        self.control_stack.is_some()
    }
}
