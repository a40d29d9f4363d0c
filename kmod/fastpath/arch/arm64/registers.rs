// SPDX-License-Identifier: GPL-2.0

//! A thread's registers, as they lie on its kernel stack.

use stepping::{Fault, Memory, Outcome};
use ubp::arch::{Emulate, Mode, Reg};

use super::Modes;

/// Which kind of branch led to the instruction (Arm ARM, C5.2.1, BTYPE).
const BTYPE: u64 = 3 << 10;
/// The condition flags in PSTATE (Arm ARM, C5.2.10).
const NZCV: u64 = 0xf << 28;

/// What `struct pt_regs` begins with: `struct user_pt_regs` (arch/arm64/include/asm/ptrace.h).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Registers {
    general: [u64; 31],
    sp: u64,
    pc: u64,
    pstate: u64,
}

impl Registers {
    /// Takes on what ptrace shows, `struct user_pt_regs`; of PSTATE the condition flags and BTYPE.
    pub fn assign(&mut self, bytes: &[u8]) {
        let ([words @ .., sp, pc, pstate], []) = bytes.as_chunks() else { return };
        for (to, from) in self.general.iter_mut().zip(words) {
            *to = u64::from_ne_bytes(*from);
        }
        (self.sp, self.pc) = (u64::from_ne_bytes(*sp), u64::from_ne_bytes(*pc));
        self.pstate = self.pstate & !(NZCV | BTYPE) | u64::from_ne_bytes(*pstate) & (NZCV | BTYPE);
    }

    /// The pc in what ptrace shows.
    pub fn pc_of(bytes: &[u8]) -> u64 {
        bytes.as_chunks().0.get(32).map_or(0, |word| u64::from_ne_bytes(*word))
    }

    /// Where the thread goes on.
    pub fn pc(&self) -> u64 {
        self.pc
    }

    /// Has it go on there.
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
                if let Some(place) = number.and_then(|number| self.general.get_mut(number)) {
                    *place = value;
                }
            }
        }
    }

    /// Whether the program steps itself, which it cannot.
    pub fn is_stepping(&self) -> bool {
        false
    }

    /// How the thread's code is read.
    pub fn mode(&self, _: Modes) -> Mode {
        Mode
    }

    /// Does what an instruction does, in a guarded page or in another one.
    pub fn emulate(&mut self, emulate: &Emulate, guarded: bool, memory: &mut impl Memory) -> Result<Outcome, Fault> {
        emulate.run(&mut Emulated { registers: self, guarded }, memory)
    }
}

/// Registers of a thread at a site.
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
