// SPDX-License-Identifier: GPL-2.0

//! A thread's registers, as they lie on its kernel stack.

use stepping::{Fault, Memory, Outcome};
use ubp::arch::{Emulate, Mode, Reg};

use super::Modes;

/// The kernel's __USER32_CS (arch/x86/include/asm/segment.h).
const USER32_CS: u64 = 0x23;

/// `struct pt_regs` (arch/x86/include/asm/ptrace.h).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Registers {
    r15: u64,
    r14: u64,
    r13: u64,
    r12: u64,
    bp: u64,
    bx: u64,
    r11: u64,
    r10: u64,
    r9: u64,
    r8: u64,
    ax: u64,
    cx: u64,
    dx: u64,
    si: u64,
    di: u64,
    orig_ax: u64,
    ip: u64,
    cs: u64,
    flags: u64,
    sp: u64,
    ss: u64,
}

/// Flags that a program may have (arch/x86/kernel/ptrace.c, FLAG_MASK).
const SETTABLE: u64 = 0x5_4dd5;

impl Registers {
    /// Bytes of what ptrace shows: `struct user_regs_struct`.
    pub(crate) const BYTES: usize = 27 * 8;

    /// The word of that with the pc.
    pub(crate) const PC: usize = 16;

    /// Takes on what `struct user_regs_struct` begins with: the same words in the same order. Segments stay as they are.
    pub(crate) fn assign(&mut self, words: &[u64]) {
        if let [r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, _, ip, _, flags, sp, ..] = *words {
            let flags = self.flags & !SETTABLE | flags & SETTABLE;
            let Registers { orig_ax, cs, ss, .. } = *self;
            *self = Registers {
                r15,
                r14,
                r13,
                r12,
                bp,
                bx,
                r11,
                r10,
                r9,
                r8,
                ax,
                cx,
                dx,
                si,
                di,
                orig_ax,
                ip,
                cs,
                flags,
                sp,
                ss,
            };
        }
    }

    pub(crate) fn pc(&self) -> u64 {
        self.ip
    }

    pub(crate) fn set_pc(&mut self, pc: u64) {
        self.ip = pc;
    }

    pub(crate) fn sp(&self) -> u64 {
        self.sp
    }

    /// All general registers.
    pub(crate) fn general(&self) -> [u64; 16] {
        let Registers { r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, sp, .. } = *self;
        [r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, sp]
    }

    /// Sets a general register.
    pub(crate) fn set(&mut self, register: Reg, value: u64) {
        if let Some(place) = self.place(register) {
            *place = value;
        }
    }

    /// How the thread's code is read.
    pub(crate) fn mode(&self, modes: Modes) -> Mode {
        modes.of(self.cs & 0xffff == USER32_CS)
    }

    /// Does what an instruction does.
    pub(crate) fn emulate(&mut self, emulate: &Emulate, memory: &mut impl Memory) -> Result<Outcome, Fault> {
        emulate.run(self, memory)
    }

    fn place(&mut self, register: Reg) -> Option<&mut u64> {
        Some(match register.number() {
            0 => &mut self.ax,
            1 => &mut self.cx,
            2 => &mut self.dx,
            3 => &mut self.bx,
            4 => &mut self.sp,
            5 => &mut self.bp,
            6 => &mut self.si,
            7 => &mut self.di,
            8 => &mut self.r8,
            9 => &mut self.r9,
            10 => &mut self.r10,
            11 => &mut self.r11,
            12 => &mut self.r12,
            13 => &mut self.r13,
            14 => &mut self.r14,
            15 => &mut self.r15,
            _ if register == Reg::RIP => &mut self.ip,
            _ if register == Reg::FLAGS => &mut self.flags,
            _ => return None,
        })
    }
}

impl stepping::x86::Registers for Registers {
    fn get(&self, register: Reg) -> u64 {
        match register {
            // Upper bits tell of the entry into the kernel.
            Reg::CS => self.cs & 0xffff,
            Reg::SS => self.ss & 0xffff,
            // SAFETY: it reads a base of the thread that runs here, whose registers these are.
            Reg::FS_BASE => unsafe { super::ntrace_base(false) as u64 },
            // SAFETY: the same.
            Reg::GS_BASE => unsafe { super::ntrace_base(true) as u64 },
            _ => {
                let mut copy = *self;
                copy.place(register).map_or(0, |place| *place)
            }
        }
    }

    fn set(&mut self, register: Reg, value: u64) {
        Registers::set(self, register, value);
    }

    fn linear_address_bits(&self) -> u32 {
        // SAFETY: it reads what never changes.
        unsafe { super::ntrace_cpu_address_bits() as u32 }
    }
}
