//! Calls of a debuggee's functions.

use libc::user_regs_struct;

use super::shadow_stack;
use super::syscalls::ENTERS;
use crate::memory::ProcessMemory;
use crate::ptrace::sys;
use crate::{Address, Arch, Result, Tid};

/// A thread's extended state (linux/elf.h).
const NT_X86_XSTATE: i32 = 0x202;
/// Bytes below the stack pointer that belong to the function that runs (System V ABI for x86-64, 3.2.2).
const RED_ZONE: u64 = 128;
/// More bytes than any processor's extended state has.
const EXTENDED: usize = 16 << 10;

/// State that a function may change besides general registers and memory.
pub(in crate::ptrace) struct Unseen {
    extended: Vec<u8>,
    ssp: Option<u64>,
}

impl Unseen {
    pub(in crate::ptrace) fn read(tid: Tid) -> Result<Unseen> {
        let mut extended = vec![0; EXTENDED];
        let ssp = shadow_stack::pointer(tid);
        let length = sys::register_set(tid, NT_X86_XSTATE, &mut extended)?;
        extended.truncate(length);
        Ok(Unseen { extended, ssp })
    }

    /// Restores the state that [`Unseen::read`] found, and the general registers.
    pub(in crate::ptrace) fn restore(&self, tid: Tid, registers: &user_regs_struct) -> Result<()> {
        sys::set_register_set(tid, NT_X86_XSTATE, &self.extended)?;
        super::write(tid, registers)?;
        match self.ssp {
            Some(ssp) => shadow_stack::set_pointer(tid, ssp),
            None => Ok(()),
        }
    }
}

/// A function about to be called.
pub(in crate::ptrace) struct Function {
    /// The thread's registers at its first instruction.
    pub(in crate::ptrace) registers: user_regs_struct,
    /// The bytes for the stack, from the stack pointer on.
    pub(in crate::ptrace) stack: Vec<u8>,
    /// The return address: that of a breakpoint instruction.
    pub(in crate::ptrace) back: u64,
}

impl Function {
    /// Prepares a call of `function` by a thread with these registers. The function returns behind `gate`, code that enters the
    /// kernel.
    pub(in crate::ptrace) fn new(
        mut registers: user_regs_struct,
        arch: Arch,
        function: Address,
        args: &[u64],
        gate: u64,
    ) -> Function {
        let back = gate + ENTERS;
        registers.orig_rax = u64::MAX;
        registers.rip = function.0;
        registers.rax = 0;
        let word = arch.width() as u64;
        let in_registers = if arch == Arch::I386 { 0 } else { 6 };
        let on_stack = args.get(in_registers..).unwrap_or(&[]);
        let below = registers.rsp.wrapping_sub(RED_ZONE + on_stack.len() as u64 * word) / 16 * 16;
        registers.rsp = below.wrapping_sub(word);
        let mut stack = Vec::new();
        for value in std::iter::once(&back).chain(on_stack) {
            stack.extend(value.to_le_bytes().iter().take(word as usize));
        }
        let places = [
            &mut registers.rdi,
            &mut registers.rsi,
            &mut registers.rdx,
            &mut registers.rcx,
            &mut registers.r8,
            &mut registers.r9,
        ];
        for (place, value) in places.into_iter().take(in_registers).zip(args) {
            *place = *value;
        }
        Function { registers, stack, back }
    }

    /// Takes the last step before the thread runs the function.
    pub(in crate::ptrace) fn prepare(&self, tid: Tid, memory: &ProcessMemory) -> Result<()> {
        shadow_stack::push(tid, memory, self.back)
    }

    /// The result of a function that just returned.
    pub(in crate::ptrace) fn answer(registers: &user_regs_struct) -> u64 {
        registers.rax
    }
}
