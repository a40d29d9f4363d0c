// SPDX-License-Identifier: GPL-2.0

//! A thread's registers on its kernel stack.

use core::arch::asm;
use core::cell::Cell;
use core::mem::size_of;

use stepping::{Fault, Memory, Outcome};
use ubp::arch::{Emulate, Mode, Reg};

use super::Modes;
use crate::{chunks, layout};

/// `struct pt_regs` (arch/x86/include/asm/ptrace.h) by words. `struct user_regs_struct` begins with the same words.
///
/// The words are cells: functions of C that the current thread calls meanwhile read and write them too.
#[repr(transparent)]
pub struct Registers([Cell<u64>; WORDS]);

/// Words of `struct pt_regs`.
const WORDS: usize = layout::NTRACE_PT_REGS_SIZE as usize / 8;
/// The words of the general registers, by the registers' numbers.
const GENERAL: [u8; 16] = [
    word(layout::NTRACE_PT_REGS_AX),
    word(layout::NTRACE_PT_REGS_CX),
    word(layout::NTRACE_PT_REGS_DX),
    word(layout::NTRACE_PT_REGS_BX),
    word(layout::NTRACE_PT_REGS_SP),
    word(layout::NTRACE_PT_REGS_BP),
    word(layout::NTRACE_PT_REGS_SI),
    word(layout::NTRACE_PT_REGS_DI),
    word(layout::NTRACE_PT_REGS_R8),
    word(layout::NTRACE_PT_REGS_R9),
    word(layout::NTRACE_PT_REGS_R10),
    word(layout::NTRACE_PT_REGS_R11),
    word(layout::NTRACE_PT_REGS_R12),
    word(layout::NTRACE_PT_REGS_R13),
    word(layout::NTRACE_PT_REGS_R14),
    word(layout::NTRACE_PT_REGS_R15),
];
const ORIG_AX: usize = word(layout::NTRACE_PT_REGS_ORIG_AX) as usize;
const IP: usize = word(layout::NTRACE_PT_REGS_IP) as usize;
const CS: usize = word(layout::NTRACE_PT_REGS_CS) as usize;
const FLAGS: usize = word(layout::NTRACE_PT_REGS_FLAGS) as usize;
const SP: usize = word(layout::NTRACE_PT_REGS_SP) as usize;
const SS: usize = word(layout::NTRACE_PT_REGS_SS) as usize;

// `general` takes the words before the flags but for the stack pointer, which is among the last six.
const _: () = assert!(WORDS == 21 && ORIG_AX == WORDS - 6 && SP == WORDS - 2);
const _: () = assert!(size_of::<Registers>() == layout::NTRACE_PT_REGS_SIZE as usize);

/// The word at an offset.
const fn word(offset: u64) -> u8 {
    (offset / 8) as u8
}

/// Bytes of `struct user_regs_struct`.
const BYTES: usize = layout::NTRACE_GENERAL_SIZE as usize;
/// The words here of the words of a 32-bit program's `struct user_regs_struct32` (arch/x86/include/asm/user32.h). Segment registers have
/// none.
const NARROW: [u8; 17] = [5, 11, 12, 13, 14, 4, 10, 99, 99, 99, 99, 15, 16, 17, 18, 19, 20];
/// The pc's word in `struct user_regs_struct32`.
const NARROW_IP: usize = 12;

const _: () = {
    assert!(layout::NTRACE_GENERAL32_SIZE == NARROW.len() as u64 * 4);
    assert!(layout::NTRACE_GENERAL32_IP == NARROW_IP as u64 * 4 && NARROW[NARROW_IP] as usize == IP);
};

/// The flags that ptrace may change (FLAG_MASK, arch/x86/kernel/ptrace.c).
const SETTABLE: u64 = 0x5_4dd5;

impl Registers {
    /// Takes over registers as ptrace shows them: `struct user_regs_struct`, or that of a 32-bit program. Segment registers stay.
    pub fn assign(&self, bytes: &[u8]) {
        if bytes.len() == BYTES {
            for (number, word) in chunks(bytes).iter().enumerate() {
                self.assign_word(number, u64::from_ne_bytes(*word));
            }
        } else {
            for (number, word) in NARROW.iter().zip(chunks(bytes)) {
                self.assign_word((*number).into(), u32::from_ne_bytes(*word).into());
            }
        }
    }

    #[inline(never)]
    fn assign_word(&self, number: usize, word: u64) {
        let settable = match number {
            ORIG_AX | CS | SS => 0,
            FLAGS => SETTABLE,
            _ => u64::MAX,
        };
        if let Some(value) = self.0.get(number) {
            value.set(value.get() & !settable | word & settable);
        }
    }

    /// The pc in registers as ptrace shows them.
    pub fn pc_of(bytes: &[u8]) -> u64 {
        let narrow = || chunks(bytes).get(NARROW_IP).map(|word| u32::from_ne_bytes(*word).into());
        let wide = || chunks(bytes).get(IP).map(|word| u64::from_ne_bytes(*word));
        if bytes.len() == BYTES { wide() } else { narrow() }.unwrap_or(0)
    }

    /// The pc.
    pub fn pc(&self) -> u64 {
        self.0[IP].get()
    }

    /// Sets the pc.
    pub fn set_pc(&self, pc: u64) {
        self.0[IP].set(pc);
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.0[SP].get()
    }

    /// A word of the registers as ptrace shows them, where that is the one here: general registers and pc of a 64-bit program.
    pub fn shown(&self, number: usize) -> Option<u64> {
        let is_same = number < ORIG_AX || number == IP || number == SP;
        let is_narrow = self.0[CS].get() & 0xffff == layout::NTRACE_USER32_CS;
        let number = (is_same && !is_narrow).then(|| super::within(number, WORDS))?;
        self.0.get(number).map(Cell::get)
    }

    /// All general registers but the stack pointer.
    pub fn general(&self) -> impl Iterator<Item = u64> + '_ {
        let [general @ .., _, _, _, _, _, _] = &self.0;
        general.iter().map(Cell::get)
    }

    /// Sets a general register.
    pub fn set(&self, register: Reg, value: u64) {
        if let Some(word) = index(register).and_then(|index| self.0.get(index)) {
            word.set(value);
        }
    }

    /// Whether the program has set the trap flag.
    pub fn is_stepping(&self) -> bool {
        self.0[FLAGS].get() & layout::NTRACE_TRAP_FLAG != 0
    }

    /// How the processor reads the thread's code.
    pub fn mode(&self, modes: Modes) -> Mode {
        modes.of(self.0[CS].get() & 0xffff == layout::NTRACE_USER32_CS)
    }

    /// Emulates an instruction.
    pub fn emulate(&self, emulate: &Emulate, _: bool, memory: &mut impl Memory) -> Result<Outcome, Fault> {
        emulate.run(&mut Emulated { registers: self }, memory)
    }
}

/// A segment register. The kernel's entry does not change these.
#[inline(never)]
fn selector(register: Reg) -> u64 {
    let value: u64;
    // SAFETY: each instruction reads a segment register into `value` and does nothing else.
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

/// The index of a register's word.
fn index(register: Reg) -> Option<usize> {
    match register {
        Reg::RIP => Some(IP),
        Reg::FLAGS => Some(FLAGS),
        _ => GENERAL.get(usize::from(register.number())).map(|index| usize::from(*index)),
    }
}

/// The registers of a thread whose instruction is emulated.
struct Emulated<'a> {
    registers: &'a Registers,
}

impl stepping::x86::Registers for Emulated<'_> {
    fn get(&self, register: Reg) -> u64 {
        match register {
            // The upper bits tell how the kernel was entered.
            Reg::CS => self.registers.0[CS].get() & 0xffff,
            Reg::SS => self.registers.0[SS].get() & 0xffff,
            Reg::DS | Reg::ES | Reg::FS | Reg::GS => selector(register),
            // SAFETY: the function reads a register of the current thread, whose registers these are.
            Reg::FS_BASE => unsafe { super::ntrace_base(false) as u64 },
            // SAFETY: the function reads a register of the current thread, whose registers these are.
            Reg::GS_BASE => unsafe { super::ntrace_base(true) as u64 },
            _ => index(register).and_then(|index| self.registers.0.get(index)).map_or(0, Cell::get),
        }
    }

    fn set(&mut self, register: Reg, value: u64) {
        self.registers.set(register, value);
    }

    fn linear_address_bits(&self) -> u32 {
        // SAFETY: the function reads a variable of the kernel that never changes.
        unsafe { super::ntrace_cpu_address_bits() as u32 }
    }
}
