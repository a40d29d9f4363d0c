// SPDX-License-Identifier: GPL-2.0

//! A thread's registers on its kernel stack.

use core::cell::Cell;
use core::mem::{offset_of, size_of};

use stepping::{Fault, Memory, Outcome};
use ubp::arch::{Emulate, Mode, Reg};

use super::Modes;
use crate::{chunks, layout};

/// The kind of branch that led to the instruction (Arm ARM, C5.2.1, BTYPE).
const BTYPE: u64 = 3 << 10;
/// The condition flags in PSTATE (Arm ARM, C5.2.10).
const NZCV: u64 = 0xf << 28;

/// `struct user_pt_regs`, with which `struct pt_regs` begins (arch/arm64/include/asm/ptrace.h).
///
/// The words are cells: functions of C that the current thread calls meanwhile read and write them too.
#[repr(C)]
pub struct Registers {
    general: [Cell<u64>; 31],
    sp: Cell<u64>,
    pc: Cell<u64>,
    pstate: Cell<u64>,
}

const _: () = {
    assert!(size_of::<Registers>() == layout::NTRACE_GENERAL_SIZE as usize);
    assert!(offset_of!(Registers, general) == layout::NTRACE_PT_REGS_GENERAL as usize);
    assert!(offset_of!(Registers, sp) == layout::NTRACE_PT_REGS_SP as usize);
    assert!(offset_of!(Registers, pc) == layout::NTRACE_PT_REGS_PC as usize);
    assert!(offset_of!(Registers, pstate) == layout::NTRACE_PT_REGS_PSTATE as usize);
    assert!(offset_of!(Registers, pc) == layout::NTRACE_USER_PT_REGS_PC as usize);
};

impl Registers {
    /// Takes over registers as ptrace shows them, `struct user_pt_regs`. Of PSTATE it takes the condition flags and BTYPE.
    pub fn assign(&self, bytes: &[u8]) {
        if bytes.len() % 8 != 0 {
            return;
        }
        let [words @ .., sp, pc, pstate] = chunks(bytes) else { return };
        for (to, from) in self.general.iter().zip(words) {
            to.set(u64::from_ne_bytes(*from));
        }
        self.sp.set(u64::from_ne_bytes(*sp));
        self.pc.set(u64::from_ne_bytes(*pc));
        self.set_state(NZCV | BTYPE, u64::from_ne_bytes(*pstate));
    }

    /// Sets those bits of PSTATE that `mask` has.
    fn set_state(&self, mask: u64, value: u64) {
        self.pstate.set(self.pstate.get() & !mask | value & mask);
    }

    /// The pc in registers as ptrace shows them.
    pub fn pc_of(bytes: &[u8]) -> u64 {
        chunks(bytes).get(layout::NTRACE_USER_PT_REGS_PC as usize / 8).map_or(0, |word| u64::from_ne_bytes(*word))
    }

    /// The pc.
    pub fn pc(&self) -> u64 {
        self.pc.get()
    }

    /// Sets the pc.
    pub fn set_pc(&self, pc: u64) {
        self.pc.set(pc);
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.sp.get()
    }

    /// A word of the registers as ptrace shows them, where that is the one here: general registers and pc.
    pub fn shown(&self, number: usize) -> Option<u64> {
        let count = self.general.len();
        match number {
            _ if number < count => self.general.get(super::within(number, count)).map(Cell::get),
            _ if number == count => Some(self.sp.get()),
            _ if number == count + 1 => Some(self.pc.get()),
            _ => None,
        }
    }

    /// All general registers but the stack pointer.
    pub fn general(&self) -> impl Iterator<Item = u64> + '_ {
        self.general.iter().map(Cell::get)
    }

    /// Sets a general register.
    pub fn set(&self, register: Reg, value: u64) {
        match register {
            Reg::SP => self.sp.set(value),
            Reg::PC => self.pc.set(value),
            Reg::NZCV => self.set_state(NZCV, value),
            _ => {
                let number = register.as_general().map(usize::from);
                if let Some(general) = number.and_then(|number| self.general.get(number)) {
                    general.set(value);
                }
            }
        }
    }

    /// Whether the program steps itself, which no program can.
    pub fn is_stepping(&self) -> bool {
        false
    }

    /// How the processor reads the thread's code.
    pub fn mode(&self, _: Modes) -> Mode {
        Mode
    }

    /// Emulates an instruction. `guarded` says whether it lies in a guarded page.
    pub fn emulate(&self, emulate: &Emulate, guarded: bool, memory: &mut impl Memory) -> Result<Outcome, Fault> {
        emulate.run(&mut Emulated { registers: self, guarded }, memory)
    }
}

/// The registers of a thread, and whether its site lies in a guarded page.
struct Emulated<'a> {
    registers: &'a Registers,
    guarded: bool,
}

impl stepping::arm64::Registers for Emulated<'_> {
    fn get(&self, register: Reg) -> u64 {
        match register {
            Reg::SP => self.registers.sp.get(),
            Reg::PC => self.registers.pc.get(),
            Reg::NZCV => self.registers.pstate.get() & NZCV,
            _ => {
                let number = register.as_general().map(usize::from);
                number.and_then(|number| self.registers.general.get(number)).map_or(0, Cell::get)
            }
        }
    }

    fn set(&mut self, register: Reg, value: u64) {
        self.registers.set(register, value);
    }

    fn branch_type(&self) -> u8 {
        ((self.registers.pstate.get() & BTYPE) >> BTYPE.trailing_zeros()) as u8
    }

    fn set_branch_type(&mut self, branch_type: u8) {
        self.registers.set_state(BTYPE, u64::from(branch_type) << BTYPE.trailing_zeros());
    }

    fn guarded(&self) -> bool {
        self.guarded
    }
}
