//! Threads in slots: their registers as the program knows them, and the way out of a slot.

use libc::user_regs_struct;

use super::arch;
use super::tracees::Tracees;
use crate::arch::{BEHIND, Place, Reg, pc, set, set_pc};
use crate::{Result, Tid};

/// Changes the registers of a thread in a slot to what they would be at the original place.
pub(super) fn translate(registers: &mut user_regs_struct, place: &Place, scratch: Option<(Reg, u64)>) {
    set_pc(registers, place.pc);
    for (reg, value) in place.register.into_iter().chain(scratch) {
        set(registers, reg, value);
    }
}

impl Tracees {
    /// The registers of a stopped thread as they would be without breakpoints.
    pub(super) fn view(&self, tid: Tid) -> Result<user_regs_struct> {
        let mut registers = arch::read(tid)?;
        let thread = self.thread(tid)?;
        if let Some((_, place)) = self.space_of(thread.pid)?.place(pc(&registers)) {
            translate(&mut registers, &place, thread.slot.scratch);
        }
        Ok(registers)
    }

    /// Moves a thread out of the slot it is in: to the site, or to the next instruction.
    pub(super) fn leave_slot(&mut self, tid: Tid) -> Result<()> {
        let mut registers = arch::read(tid)?;
        let thread = self.thread(tid)?;
        let Some((_, place)) = self.space_of(thread.pid)?.place(pc(&registers)) else { return Ok(()) };
        translate(&mut registers, &place, thread.slot.scratch);
        arch::write(tid, &registers)?;
        self.thread_mut(tid)?.end_slot();
        Ok(())
    }

    /// Remembers that a stopped thread is outside of all slots, if it is. It cannot enter a slot whose site is gone any more.
    pub(super) fn note_seen(&mut self, tid: Tid) -> Result<()> {
        let pc = arch::pc(tid)?;
        let space = self.space_at(tid)?;
        if space.slot_at(pc).is_none() {
            let epoch = space.epoch;
            self.thread_mut(tid)?.seen = epoch;
        }
        Ok(())
    }

    /// The address of the breakpoint instruction that stopped a thread just now.
    pub(super) fn trap_address(&self, tid: Tid) -> Result<u64> {
        let is_rewound = self.thread(tid)?.rewound.is_some();
        Ok(arch::pc(tid)?.wrapping_sub(if is_rewound { 0 } else { BEHIND }))
    }
}
