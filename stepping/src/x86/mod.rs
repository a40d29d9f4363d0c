//! x86-64 and i386.
//!
//! # Which class gets which plan (x86-64 and i386)
//!
//! | class | plan |
//! |---|---|
//! | near `jmp`, `call`, `jcc`, `loop`, `jcxz`, direct and indirect, `jmpabs` | emulate; the operand is read before the push; 66 truncates in 32-bit code and on AMD, and is ignored by Intel in 64-bit mode; 67 narrows the count; on AMD F2 and F3 choose the condition of `loope` and `loopne` |
//! | `ret`, `ret imm16` | emulate; with a shadow stack, so for `call`, its entry is pushed, compared and popped |
//! | `pushf`, `popf` | emulate; what user mode cannot change stays; `popf` that changes a flag which the back end cannot set runs its copy ([`Outcome::Slot`]) |
//! | `nop`, `endbr`, the program's own `int3` | emulate |
//! | `syscall` in 64-bit mode | boosted, rcx corrected in the slot, so in the children of clone, fork and vfork too |
//! | `int n`, `sysenter`, `syscall` in 32-bit code | boosted; the kernel's way back is the program's |
//! | rip-relative operand | displacement rewritten within reach; else through a scratch register that the instruction neither reads nor writes, and a trap behind the copy |
//! | far `call` | single-stepped, then its return address corrected |
//! | far `jmp`, `lret`, `iret`, `uiret` | copy; control never comes back |
//! | `xbegin` | boosted, abort distance rewritten; an abort out of reach traps in the slot |
//! | privileged, undefined, and everything else, among it VEX, EVEX, `mov ss`, string, UMIP, `cpuid`, gathers, `xsave` | boosted; faults are translated to the site |
//! | `enclu`, `xbegin` with a 16-bit distance, 16-bit code | refused by name |
//!
//! Out of ±2 GiB the way back is an indirect jump through an aligned address in the slot; copies of more than 10 bytes leave
//! no room for it and trap. In 32-bit code everything is within reach.
//!
//! # Known deviations
//!
//! - After an x87 instruction in a slot the last x87 instruction's address (FIP, as `fnstenv`, `fnsave` and `fxsave` store it)
//!   is the slot's, and where a scratch register serves so is its opcode (FOP). On AMD a context switch loses it, slots or no.
//! - Hardware that records addresses (LBR, PEBS, IBS, Intel PT, AMD LWP, user interrupts) sees slots.
//! - A thread in a slot is not in its restartable sequence (rseq(2)): a sequence that is preempted there goes on where it
//!   should have been aborted.
//! - A transaction (RTM) is aborted by the breakpoint that it meets, as by any trap.
//! - Emulation takes es, cs, ss and ds as flat and stacks as 32 or 64 bits wide, as Linux makes them; MPX, which Linux has
//!   dropped, and indirect branch tracking, which Linux does not turn on for user code, are not modelled.

mod assemble;
mod class;
mod code;
mod emulate;
mod plan;
mod refuse;
mod slot;

pub use crate::{Exit, Outcome, Progress, SLOT_SIZE};
pub use code::{Code, Place, Scratch};
pub use emulate::{Emulate, Registers};
pub use plan::{Plan, plan};
pub use refuse::Refusal;
pub use slot::Slot;
