use std::mem::MaybeUninit;

use crate::arch::{self, Reg};
use crate::{Address, Arch};

/// The general registers of a thread, as the program sees them: the pc is never in a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    pub(crate) raw: libc::user_regs_struct,
}

impl Registers {
    /// The address of the next instruction to execute.
    pub fn pc(&self) -> Address {
        Address(arch::pc(&self.raw))
    }
    /// The stack pointer.
    pub fn sp(&self) -> Address {
        Address(arch::sp(&self.raw))
    }
    /// Sets the address of the next instruction to execute.
    pub fn set_pc(&mut self, pc: Address) {
        arch::set_pc(&mut self.raw, pc.0);
    }
    /// The architecture that the thread executes.
    pub fn arch(&self) -> Arch {
        arch::arch(&self.raw)
    }
    /// The value of a general register, the stack pointer, the pc, the flags, or on x86 a selector or segment base; `None` for other
    /// registers.
    pub fn get(&self, reg: Reg) -> Option<u64> {
        arch::get(&self.raw, reg)
    }
    /// Sets a register that [`Registers::get`] knows; returns `false` for others.
    pub fn set(&mut self, reg: Reg, value: u64) -> bool {
        arch::set(&mut self.raw, reg, value)
    }
    /// The registers in the layout of the kernel's `struct user_regs_struct` (sys/user.h), on arm64 `struct user_pt_regs`
    /// (asm/ptrace.h). Those of a 32-bit program have the layout of a 64-bit one.
    pub fn bytes(&self) -> &[u8] {
        let start = (&raw const self.raw).cast::<u8>();
        // SAFETY: the structure is live as long as the slice, consists of words, and has no padding.
        unsafe { std::slice::from_raw_parts(start, size_of_val(&self.raw)) }
    }

    /// The registers from the layout of [`Registers::bytes`]; `None` for another number of bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Registers> {
        let mut raw = MaybeUninit::<libc::user_regs_struct>::uninit();
        if bytes.len() != size_of_val(&raw) {
            return None;
        }
        // SAFETY: the structure has as many bytes, and its memory is new.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), raw.as_mut_ptr().cast(), bytes.len()) };
        // SAFETY: all bytes are written, and words may have any value.
        Some(Registers { raw: unsafe { raw.assume_init() } })
    }
}

impl std::fmt::Debug for Registers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Registers");
        for reg in arch::SHOWN {
            if let Some(value) = self.get(reg) {
                out.field(&reg.to_string(), &format_args!("{value:#x}"));
            }
        }
        out.finish()
    }
}
