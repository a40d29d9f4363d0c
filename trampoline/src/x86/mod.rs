//! Jumps and trampolines for x86-64.
//!
//! # The jump
//!
//! A `jmp rel32` at a site covers the four bytes behind its first one. Each of them always traps when an instruction begins with it
//! ([`TRAPPING`]). So it does not matter whether the program branches into the covered bytes by a jump table, a signal return or `longjmp`:
//! such a thread traps, [`covered`] tells where it stands, and [`Trampoline::entry`] where it continues.
//!
//! The displacement ([`Displacement`]) is the same for all sites of a module. The jumps lead into the *mirror*, a sparse mapping at that distance
//! from the code, in which a second jump per site ([`mirror_jump`]) leads to the trampoline.
//!
//! # The trampoline
//!
//! [`Site::assemble`] writes it: the probe (count the arrival, test the condition, act), then the *run*, then a jump back. The run has the program's
//! instructions that the jump covers, and those up to the last probe. Every instruction of it may have a probe, so that one trampoline serves all
//! sites of a basic block.
//!
//! A probe overwrites registers and flags only if [`insn::x86::dead`] proves that the code does not need them, or pushes them first. Pushes go
//! below the red zone. Flags are kept by `lahf` and `seto`. Vector and x87 state are never touched.
//!
//! # Places
//!
//! [`Place`] says for every address in a trampoline at which an instruction begins what state the program has there. A thread in the mirror is
//! at the site.
//!
//! A fault at an instruction of a probe ([`Place::own`]) is none of the program's:
//!
//! - The place has a [`fixup`](Place::fixup): the thread continues there.
//! - The progress is [`Progress::Before`]: a push found no stack. The caller restores the state by [`Place::restore`], acts itself, and lets the thread
//!   continue at [`Trampoline::copy`].
//!
//! # Known deviations
//!
//! - A thread that stops at the jump of a `call` through a register or memory, or faults there because the target is not canonical, is shown at the
//!   call, with the return address already in the eight bytes below the stack pointer. Intel's processors store it before that fault too. A call
//!   through a pointer in these eight bytes, whose address does not come from the stack pointer, goes to the return address.
//! - `lahf` and `sahf` are needed in 64-bit mode (CPUID leaf 80000001h, ecx bit 0), which all processors but the earliest have.
//! - Code that runs on a stack without room below the red zone faults in the probe, as described above.
//! - The deviations of copies in general: the address of the last x87 instruction, hardware that records addresses, and restartable sequences
//!   (rseq(2)), as [`stepping::x86`] describes them. A program that sets its own trap flag gets one more trap after `syscall`.

mod assemble;
mod bytes;
mod condition;
mod count;
mod displacement;
mod frame;
mod histogram;
mod memory;
mod patch;
mod place;
mod probe;
mod record;
mod refuse;
mod relocate;
mod run;
mod saved;
mod stack;
mod sum;
mod thread;
mod writer;

pub use crate::Progress;
pub use assemble::{Site, Trampoline};
pub use bytes::JUMP_LEN;
pub use bytes::{TRAPPING, Trap, trap};
pub use displacement::Displacement;
pub use patch::{covered, jump, mirror_jump};
pub use place::{Place, place};
pub use probe::{
    Action, Clause, CpuSource, Field, Memory, Probe, Record, Relation, Ring, Source, Subject, ThreadKey, Threads,
    WhenFull,
};
pub use refuse::Refusal;
pub use relocate::relocates;
