//! Plans, slots and emulation for x86-64 and i386.
//!
//! # Plans by class of instruction
//!
//! | class | plan |
//! |---|---|
//! | near `jmp`, `call`, `jcc`, `loop`, `jcxz`, direct and indirect, `jmpabs` | emulate; the operand is read before the push; prefix 66 truncates the target in 32-bit code and on AMD, and is ignored by Intel in 64-bit mode; prefix 67 narrows the count; on AMD F2 and F3 choose the condition of `loope` and `loopne` |
//! | `ret`, `ret imm16` | emulate; with a shadow stack its entry is compared and popped (for `call` pushed) |
//! | `pushf`, `popf` | emulate; flags that user mode cannot change stay; `popf` that changes a flag which the caller cannot set runs its copy ([`Outcome::Slot`]) |
//! | `nop`, `endbr`, the program's own `int3` | emulate |
//! | `syscall` in 64-bit mode | boosted; the slot corrects rcx, in children of clone, fork and vfork too |
//! | `int n`, `sysenter`, `syscall` in 32-bit code | boosted |
//! | rip-relative operand | boosted with a rewritten displacement if within reach; otherwise a scratch register that the instruction neither reads nor writes, and a trap after the copy |
//! | far `call` | single-stepped, then the return address is corrected |
//! | far `jmp`, `lret`, `iret`, `uiret` | copy; control does not return to the slot |
//! | `xbegin` | boosted with a rewritten abort distance; if the abort handler is out of reach, an abort traps in the slot |
//! | privileged, undefined, and everything else, among it VEX, EVEX, `mov ss`, string, UMIP, `cpuid`, gathers, `xsave` | boosted; addresses of faults are translated to the site |
//! | `enclu`, `xbegin` with a 16-bit distance, 16-bit code | refused, with the reason |
//!
//! Beyond ±2 GiB an indirect jump through an aligned address in the slot leads back. Copies of more than 10 bytes leave no room for it and
//! trap. In 32-bit code everything is within reach.
//!
//! # Known deviations
//!
//! - After an x87 instruction in a slot the address of the last x87 instruction (FIP, as `fnstenv`, `fnsave` and `fxsave` store it) is
//!   in the slot. With a scratch register its opcode (FOP) differs too. On AMD a context switch clears FIP in any case.
//! - Hardware that records addresses (LBR, PEBS, IBS, Intel PT, AMD LWP, user interrupts) records slot addresses.
//! - A thread in a slot is outside of its restartable sequence (rseq(2)): if it is preempted there, the sequence continues instead of being
//!   aborted.
//! - A breakpoint aborts a transaction (RTM), as any trap does.
//! - Emulation assumes that es, cs, ss and ds are flat and stacks are 32 or 64 bits wide, as on Linux. It does not model MPX, which Linux no
//!   longer supports, nor indirect branch tracking, which Linux does not enable for user code.

mod assemble;
mod class;
mod code;
mod emulate;
mod kprobe_at;
mod kprobes;
mod mmio;
mod optimized;
mod plan;
mod refuse;
mod slot;
mod uprobes;

pub use crate::{Exit, Outcome, Progress, SLOT_SIZE};
pub use code::{Code, Place, Scratch};
pub use emulate::{Emulate, Registers};
pub use kprobe_at::{kprobe_address, kprobe_at};
pub use kprobes::{KprobeDeviation, KprobeRefusal, kprobe};
pub use mmio::{Arithmetic, Mmio, Operation, Part};
pub use optimized::{NotOptimized, Obstacle, obstacles, optimized, optimized_despite};
pub use plan::{Plan, plan};
pub use refuse::Refusal;
pub use slot::Slot;
pub use uprobes::{UprobeDeviation, UprobeRefusal, uprobe};
