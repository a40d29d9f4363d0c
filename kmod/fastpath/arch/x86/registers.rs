// SPDX-License-Identifier: GPL-2.0

//! A thread's registers, as they lie on its kernel stack.

use core::arch::asm;

use stepping::{Fault, Memory, Outcome};
use ubp::arch::{Emulate, Mode, Reg};

use super::Modes;

/// The kernel's __USER32_CS (arch/x86/include/asm/segment.h).
const USER32_CS: u64 = 0x23;

/// `struct pt_regs` (arch/x86/include/asm/ptrace.h), word by word: `struct user_regs_struct` begins with the same.
#[repr(transparent)]
pub struct Registers([u64; 21]);

/// Where in it the general registers stand, by their numbers.
const GENERAL: [u8; 16] = [10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0];
const ORIG_AX: usize = 15;
const IP: usize = 16;
const CS: usize = 17;
const FLAGS: usize = 18;
const SP: usize = 19;
const SS: usize = 20;

/// Bytes of `struct user_regs_struct`.
const BYTES: usize = 27 * 8;
/// Where the words of a 32-bit program's `struct user_regs_struct32` (arch/x86/include/asm/user32.h) stand here; segments stand nowhere.
const NARROW: [u8; 17] = [5, 11, 12, 13, 14, 4, 10, 99, 99, 99, 99, 15, 16, 17, 18, 19, 20];
/// Which of them is the pc.
const NARROW_IP: usize = 12;

/// The trap flag.
const TF: u64 = 1 << 8;

/// Flags that a program may have (arch/x86/kernel/ptrace.c, FLAG_MASK).
const SETTABLE: u64 = 0x5_4dd5;

impl Registers {
    /// Takes on what ptrace shows: `struct user_regs_struct`, or a 32-bit program's. Segments stay as they are.
    pub fn assign(&mut self, bytes: &[u8]) {
        if bytes.len() == BYTES {
            for (number, word) in bytes.as_chunks().0.iter().enumerate() {
                self.assign_word(number, u64::from_ne_bytes(*word));
            }
        } else {
            for (number, word) in NARROW.iter().zip(bytes.as_chunks().0) {
                self.assign_word((*number).into(), u32::from_ne_bytes(*word).into());
            }
        }
    }

    #[inline(never)]
    fn assign_word(&mut self, number: usize, word: u64) {
        let settable = match number {
            ORIG_AX | CS | SS => 0,
            FLAGS => SETTABLE,
            _ => u64::MAX,
        };
        if let Some(place) = self.0.get_mut(number) {
            *place = *place & !settable | word & settable;
        }
    }

    /// The pc in what ptrace shows.
    pub fn pc_of(bytes: &[u8]) -> u64 {
        let narrow = || bytes.as_chunks().0.get(NARROW_IP).map(|word| u32::from_ne_bytes(*word).into());
        let wide = || bytes.as_chunks().0.get(IP).map(|word| u64::from_ne_bytes(*word));
        if bytes.len() == BYTES { wide() } else { narrow() }.unwrap_or(0)
    }

    /// Where the thread goes on.
    pub fn pc(&self) -> u64 {
        self.0[IP]
    }

    /// Has it go on there.
    pub fn set_pc(&mut self, pc: u64) {
        self.0[IP] = pc;
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.0[SP]
    }

    /// All general registers but the stack pointer.
    pub fn general(&self) -> &[u64] {
        let [general @ .., _, _, _, _, _, _] = &self.0;
        general
    }

    /// Sets a general register.
    pub fn set(&mut self, register: Reg, value: u64) {
        if let Some(place) = place(register).and_then(|place| self.0.get_mut(place)) {
            *place = value;
        }
    }

    /// Whether the program steps itself.
    pub fn is_stepping(&self) -> bool {
        self.0[FLAGS] & TF != 0
    }

    /// How the thread's code is read.
    pub fn mode(&self, modes: Modes) -> Mode {
        modes.of(self.0[CS] & 0xffff == USER32_CS)
    }

    /// Does what an instruction does.
    pub fn emulate(&mut self, emulate: &Emulate, _: bool, memory: &mut impl Memory) -> Result<Outcome, Fault> {
        emulate.run(self, memory)
    }
}

/// A segment register, which entering the kernel does not change.
#[inline(never)]
fn selector(register: Reg) -> u64 {
    let value: u64;
    // SAFETY: each reads a register.
    unsafe {
        match register {
            Reg::DS => asm!("mov {}, ds", out(reg) value, options(nomem, nostack, preserves_flags)),
            Reg::ES => asm!("mov {}, es", out(reg) value, options(nomem, nostack, preserves_flags)),
            Reg::FS => asm!("mov {}, fs", out(reg) value, options(nomem, nostack, preserves_flags)),
            _ => asm!("mov {}, gs", out(reg) value, options(nomem, nostack, preserves_flags)),
        }
    }
    value
}

/// The word of a register.
fn place(register: Reg) -> Option<usize> {
    match register {
        Reg::RIP => Some(IP),
        Reg::FLAGS => Some(FLAGS),
        _ => GENERAL.get(usize::from(register.number())).map(|place| usize::from(*place)),
    }
}

impl stepping::x86::Registers for Registers {
    fn get(&self, register: Reg) -> u64 {
        match register {
            // Upper bits tell of the entry into the kernel.
            Reg::CS => self.0[CS] & 0xffff,
            Reg::SS => self.0[SS] & 0xffff,
            Reg::DS | Reg::ES | Reg::FS | Reg::GS => selector(register),
            // SAFETY: it reads a base of the thread that runs here, whose registers these are.
            Reg::FS_BASE => unsafe { super::ntrace_base(false) as u64 },
            // SAFETY: the same.
            Reg::GS_BASE => unsafe { super::ntrace_base(true) as u64 },
            _ => place(register).and_then(|place| self.0.get(place)).map_or(0, |value| *value),
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
