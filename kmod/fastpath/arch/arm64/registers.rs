// SPDX-License-Identifier: GPL-2.0

//! A thread's registers on its kernel stack.

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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Registers {
    general: [u64; 31],
    sp: u64,
    pc: u64,
    pstate: u64,
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
    pub fn assign(&mut self, bytes: &[u8]) {
        if bytes.len() % 8 != 0 {
            return;
        }
        let [words @ .., sp, pc, pstate] = chunks(bytes) else { return };
        for (to, from) in self.general.iter_mut().zip(words) {
            *to = u64::from_ne_bytes(*from);
        }
        (self.sp, self.pc) = (u64::from_ne_bytes(*sp), u64::from_ne_bytes(*pc));
        self.pstate = self.pstate & !(NZCV | BTYPE) | u64::from_ne_bytes(*pstate) & (NZCV | BTYPE);
    }

    /// The pc in registers as ptrace shows them.
    pub fn pc_of(bytes: &[u8]) -> u64 {
        chunks(bytes).get(layout::NTRACE_USER_PT_REGS_PC as usize / 8).map_or(0, |word| u64::from_ne_bytes(*word))
    }

    /// The pc.
    pub fn pc(&self) -> u64 {
        self.pc
    }

    /// Sets the pc.
    pub fn set_pc(&mut self, pc: u64) {
        self.pc = pc;
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.sp
    }

    /// All general registers but the stack pointer.
    pub fn general(&self) -> &[u64] {
        &self.general
    }

    /// Sets a general register.
    pub fn set(&mut self, register: Reg, value: u64) {
        match register {
            Reg::SP => self.sp = value,
            Reg::PC => self.pc = value,
            Reg::NZCV => self.pstate = self.pstate & !NZCV | value & NZCV,
            _ => {
                let number = register.as_general().map(usize::from);
                if let Some(general) = number.and_then(|number| self.general.get_mut(number)) {
                    *general = value;
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
    pub fn emulate(&mut self, emulate: &Emulate, guarded: bool, memory: &mut impl Memory) -> Result<Outcome, Fault> {
        emulate.run(&mut Emulated { registers: self, guarded }, memory)
    }
}

/// The registers of a thread, and whether its site lies in a guarded page.
struct Emulated<'a> {
    registers: &'a mut Registers,
    guarded: bool,
}

impl stepping::arm64::Registers for Emulated<'_> {
    fn get(&self, register: Reg) -> u64 {
        match register {
            Reg::SP => self.registers.sp,
            Reg::PC => self.registers.pc,
            Reg::NZCV => self.registers.pstate & NZCV,
            _ => {
                let number = register.as_general().map(usize::from);
                number.and_then(|number| self.registers.general.get(number)).copied().unwrap_or(0)
            }
        }
    }

    fn set(&mut self, register: Reg, value: u64) {
        self.registers.set(register, value);
    }

    fn branch_type(&self) -> u8 {
        ((self.registers.pstate & BTYPE) >> BTYPE.trailing_zeros()) as u8
    }

    fn set_branch_type(&mut self, branch_type: u8) {
        let others = self.registers.pstate & !BTYPE;
        self.registers.pstate = others | u64::from(branch_type) << BTYPE.trailing_zeros() & BTYPE;
    }

    fn guarded(&self) -> bool {
        self.guarded
    }
}
