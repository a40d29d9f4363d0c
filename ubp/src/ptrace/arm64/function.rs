//! Calls of a debuggee's functions.

use libc::user_regs_struct;

use super::control_stack;
use super::registers::BTYPE;
use super::syscalls::ENTERS;
use crate::memory::ProcessMemory;
use crate::ptrace::sys;
use crate::{Address, Arch, Result, Tid};

/// Vector registers (linux/elf.h): of SVE in streaming mode, of SVE, and without it. The first that a thread has holds all of them.
const VECTORS: [i32; 3] = [NT_ARM_SSVE, 0x405, 2];
const NT_ARM_SSVE: i32 = 0x40b;
/// More bytes than any processor's vector registers have.
const LARGEST: usize = 16 << 10;
/// Arguments that go in registers (AAPCS64, 6.8.2).
const IN_REGISTERS: usize = 8;

/// State that a function may change besides general registers and memory.
pub(in crate::ptrace) struct Unseen {
    kind: i32,
    vectors: Vec<u8>,
    control_stack: Option<u64>,
}

impl Unseen {
    pub(in crate::ptrace) fn read(tid: Tid) -> Result<Unseen> {
        let mut unseen = Unseen { kind: 0, vectors: vec![0; LARGEST], control_stack: control_stack::pointer(tid) };
        for kind in VECTORS {
            unseen.kind = kind;
            match sys::register_set(tid, kind, &mut unseen.vectors) {
                Ok(length) if kind != NT_ARM_SSVE || is_streaming(&unseen.vectors) => {
                    unseen.vectors.truncate(length);
                    break;
                }
                // The processor lacks these registers.
                Ok(_) | Err(crate::Error::System { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(unseen)
    }

    /// Restores the state that [`Unseen::read`] found, and the general registers.
    pub(in crate::ptrace) fn restore(&self, tid: Tid, registers: &user_regs_struct) -> Result<()> {
        sys::set_register_set(tid, self.kind, &self.vectors)?;
        super::write(tid, registers)?;
        match self.control_stack {
            Some(pointer) => control_stack::set_pointer(tid, pointer),
            None => Ok(()),
        }
    }
}

/// Whether the flags of `struct user_sve_header` say that registers follow (arch/arm64/include/uapi/asm/ptrace.h).
fn is_streaming(header: &[u8]) -> bool {
    const FLAGS: usize = 12;
    const SVE_PT_REGS_SVE: u8 = 1;
    header.get(FLAGS).is_some_and(|flags| flags & SVE_PT_REGS_SVE != 0)
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
        _: Arch,
        function: Address,
        args: &[u64],
        gate: u64,
    ) -> Function {
        let back = gate + ENTERS;
        let on_stack = args.get(IN_REGISTERS..).unwrap_or(&[]);
        registers.pc = function.0;
        registers.pstate &= !BTYPE;
        registers.sp = registers.sp.wrapping_sub(8 * on_stack.len() as u64) / 16 * 16;
        registers.regs[30] = back;
        for (place, value) in registers.regs.iter_mut().take(IN_REGISTERS).zip(args) {
            *place = *value;
        }
        Function { registers, stack: on_stack.iter().flat_map(|value| value.to_le_bytes()).collect(), back }
    }

    /// Takes the last step before the thread runs the function.
    pub(in crate::ptrace) fn prepare(&self, tid: Tid, memory: &ProcessMemory) -> Result<()> {
        control_stack::push(tid, memory, self.back)
    }

    /// The result of a function that just returned.
    pub(in crate::ptrace) fn answer(registers: &user_regs_struct) -> u64 {
        registers.regs[0]
    }
}
