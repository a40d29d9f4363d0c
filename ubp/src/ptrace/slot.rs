//! Threads in slots: what is shown of them, and taking them out.

use libc::user_regs_struct;

use super::space::SlotId;
use super::{Tracer, arch};
use crate::arch::{Place, Reg, pc, set, set_pc};
use crate::{Result, Tid};

/// `registers` of a thread in a slot, as if it were at the original place.
pub(super) fn translate(registers: &mut user_regs_struct, place: &Place, scratch: Option<(Reg, u64)>) {
    set_pc(registers, place.pc);
    for (reg, value) in place.register.into_iter().chain(scratch) {
        set(registers, reg, value);
    }
}

impl Tracer {
    /// The registers as the program would have them without breakpoints.
    pub(super) fn view(&self, tid: Tid) -> Result<user_regs_struct> {
        let mut registers = arch::read(tid)?;
        let thread = self.thread(tid)?;
        if let Some((_, place)) = self.space_of(thread.pid)?.place(pc(&registers)) {
            translate(&mut registers, &place, thread.scratch);
        }
        Ok(registers)
    }

    /// Takes a thread out of the slot it is in: to the site, or to the next instruction.
    pub(super) fn leave_slot(&mut self, tid: Tid) -> Result<Option<(SlotId, Place)>> {
        let mut registers = arch::read(tid)?;
        let thread = self.thread(tid)?;
        let Some((slot, place)) = self.space_of(thread.pid)?.place(pc(&registers)) else { return Ok(None) };
        translate(&mut registers, &place, thread.scratch);
        arch::write(tid, &registers)?;
        let thread = self.thread_mut(tid)?;
        thread.scratch = None;
        thread.step = None;
        Ok(Some((slot, place)))
    }
}
