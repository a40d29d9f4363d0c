//! Decodes and classifies one machine instruction of x86-64, i386 or A64, for debuggers, tracers, emulators and kernels.
//!
//! For each instruction the crate tells its length, its fields, what it does to the flow of control and where a branch goes, and
//! everything that it reads and writes: registers, flags, memory. It does not print assembly text.
//!
//! # Example
//!
//! ```
//! use insn::x86::{Mode, Reg, decode};
//! use insn::{Flow, Target};
//!
//! // call *0x10(%rax); nop
//! let code = [0xff, 0x50, 0x10, 0x90];
//! let call = decode(&code, Mode::INTEL_64)?;
//! assert_eq!((call.len(), call.flow(), call.target()), (3, Flow::Call, Target::Memory));
//! assert!(call.reads().contains(Reg::RAX) && call.writes().contains(Reg::RSP));
//!
//! let memory = call.memory().expect("a memory operand");
//! assert_eq!((memory.base, memory.displacement, memory.size), (Some(Reg::RAX), 0x10, 8));
//! # Ok::<(), insn::x86::Error>(())
//! ```
//!
//! More examples are in the folder `examples`: `branches_of_a_program` lists the branches in an executable, `registers_of_an_instruction`
//! shows reads and writes of an instruction given in hexadecimal, `dead_registers_of_libc` counts the instructions of the C library before which a
//! register or the flags may be overwritten.
//!
//! # Which mode
//!
//! [`x86::Mode::host`] is that of this program's own code. Code of another program has the size of its code segment: 64-bit for an ELF file of
//! class 64, else 32-bit. The vendor is the processor's, by [`x86::Vendor::from_cpuid`]; `Mode::INTEL_64` will do for what compilers write.
//!
//! # Architectures
//!
//! - [`x86`]: 64-bit, 32-bit and 16-bit code as Intel's and AMD's processors read it, up to AVX10.2, AMX and APX, with VEX, XOP, EVEX and
//!   REX2. A [`x86::Mode`] selects the code segment's size and the vendor.
//! - [`arm64`]: A64 up to SVE2, SME2, GCS and PAuth_LR.
//!
//! # Features
//!
//! The crate always has both architectures. A linker drops the code that nobody calls. The proof in the repository keeps length, flow, target
//! and validity below 24 KiB for x86 and 16 KiB for A64.
//!
//! - `std`, off by default: [`x86::starts`] uses vectors where the processor has AVX2, which the standard library finds out at run time. It finds
//!   the same starts in less time. Without the feature the crate is `no_std`.
//!
//! # Guarantees
//!
//! - The crate allocates nothing, has no dependency and no state, and cannot panic. Without the feature `std` it has no `unsafe` code.
//! - The decoder reads no byte past the slice, nor past the fifteenth.
//! - The same bytes and mode give the same answer everywhere, in a kernel too.
//! - Invalid encodings are refused, with the byte that decides; differences of vendors are a mode, not a build option.
//! - The minimal Rust version is 1.85. Raising it is a minor version change.
#![no_std]
#![cfg_attr(not(any(feature = "std", test)), forbid(unsafe_code))]
#![cfg_attr(any(feature = "std", test), deny(unsafe_code))]

#[cfg(any(feature = "std", test))]
extern crate std;

#[macro_use]
mod codes;
#[macro_use]
mod set;

pub mod arm64;
pub mod x86;

/// What an instruction does to the flow of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Flow {
    /// Continues with the next instruction, or faults.
    Next,
    /// Near unconditional jump, direct or indirect.
    Jump,
    /// Near conditional jump, loops included.
    ConditionalJump,
    /// Near call, direct or indirect.
    Call,
    /// Near return.
    Return,
    /// Enters the kernel (`syscall`, `sysenter`; `svc`), or code that a vector names (`tenter`).
    Syscall,
    /// Software interrupt through the interrupt table: `int n`, `into`.
    Interrupt,
    /// Breakpoint or debug trap: `int3`, `int1`; `brk`, `hlt`.
    Trap,
    /// Changes the code segment: far jump, call, return, `iret`.
    Far,
    /// Begins, aborts or ends a transaction. Control may go to an abort handler.
    Transaction,
    /// Faults in user mode, because it needs a privilege.
    Privileged,
    /// Faults by definition: `ud0`, `ud1`, `ud2`; `udf`.
    Faulting,
}

/// The target of a change of flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target<R> {
    /// The flow continues with the next instruction, or elsewhere in a way that the bytes do not show (system call, trap).
    None,
    /// A distance in bytes: from the end of the instruction on x86, from its start on arm64.
    Relative(i64),
    /// An absolute address in the instruction: `jmpabs`, or the offset of a far pointer.
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
    /// Only the address is used (`lea`, `nop`, `prefetch`).
    None = 0,
    /// Read.
    Read = 1,
    /// Written.
    Write = 2,
    /// Read and written.
    ReadWrite = 3,
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
