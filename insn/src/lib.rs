//! Decode and classify one machine instruction, for breakpoints, stepping and emulation.
//!
//! No allocation, no panic, no dependency, no state: the same bytes give the same answer in a kernel and outside.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
mod set;

pub mod arm64;
pub mod x86;

/// What an instruction does to the flow of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Flow {
    /// Goes on with the following instruction (or faults).
    Next,
    /// Near unconditional jump, direct or indirect.
    Jump,
    /// Near conditional jump, loops included.
    ConditionalJump,
    /// Near call, direct or indirect.
    Call,
    /// Near return.
    Return,
    /// Enters the kernel: `syscall`, `sysenter`; `svc`. Or what a vector names: `tenter`.
    Syscall,
    /// Software interrupt through the interrupt table: `int n`, `into`.
    Interrupt,
    /// Breakpoint or debug trap: `int3`, `int1`; `brk`, `hlt`.
    Trap,
    /// Changes the code segment: far jump, call, return, `iret`.
    Far,
    /// Begins, aborts or ends a transaction; control may go to an abort handler.
    Transaction,
    /// Faults in user mode for want of privilege.
    Privileged,
    /// Faults by definition: `ud0`, `ud1`, `ud2`; `udf`.
    Faulting,
}

/// Where a change of flow goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target<R> {
    /// The flow goes on with the next instruction, or elsewhere by a way that the bytes do not show (system call, trap).
    None,
    /// In bytes, relative to where the architecture counts from: the end of the instruction on x86, its start on arm64.
    Relative(i64),
    /// An absolute address in the instruction (`jmpabs`; far pointers carry their selector apart).
    Absolute(u64),
    /// The value of a register.
    Register(R),
    /// Read from the memory operand.
    Memory,
    /// Popped from the stack.
    Stack,
}

/// How an operand is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Access {
    /// Only the address is computed or hinted (`lea`, `nop`, `prefetch`).
    None = 0,
    /// Read.
    Read = 1,
    /// Written.
    Write = 2,
    /// Read and written.
    ReadWrite = 3,
}
