//! Plans, slots and emulation for A64, the instruction set of AArch64.
//!
//! # Plans by class of instruction
//!
//! | class | plan |
//! |---|---|
//! | `b`, `bl`, `b.cond`, `bc.cond`, `cbz`, `tbz`, CMPBR, `br`, `blr`, `ret` | emulate; calls and returns maintain a guarded control stack, indirect branches set BTYPE |
//! | `adr`, `adrp`, `ldr` and `ldrsw` of a literal to a general register | emulate; register 31 is xzr |
//! | `nop`, `bti`, `prfm` of a literal, the program's own `brk` | emulate |
//! | `ldr` of a literal to a vector register | boosted with a rewritten distance if within reach; otherwise a scratch register and a trap after the copy |
//! | `braa`, `retaa` and similar | copy; control does not return to the slot |
//! | `blraa` and similar | single-stepped, then the return address is corrected |
//! | `autiasppc`, `retaasppc` and similar | copy that takes the address from a scratch register |
//! | `ldxr` and similar | boosted; refused if the slot is out of reach of a branch back |
//! | everything between `ldxr` and `stxr`, and `stxr` | refused, with the nearest addresses that can carry a breakpoint |
//! | `cpym`, `cpye`, `setm`, `sete` | boosted, with copies of the instructions before them, to which the kernel may return |
//! | `movprfx` | copy, then a trap: a branch must not follow it |
//! | `paciasppc` and similar, `pacm` and the instruction after it | refused, with the reason |
//! | everything else, among it `svc`, `mrs`, `msr`, `wfe`, pointer authentication of data, LSE, SVE, SME, MTE, barriers, `dc`, `ic`, and instructions that are undefined at EL0 | boosted; addresses of faults are translated to the site |
//!
//! Within ±128 MiB a branch leads back; otherwise the slot ends with a trap.
//!
//! # BTYPE
//!
//! `brk` is a landing pad of every kind (Arm ARM C6.2, BRK), so a thread that executes it still has the BTYPE of the branch that led there.
//! Emulation checks BTYPE if [`Registers::guarded`] returns true. The processor checks it for a copy in a guarded page. Slots of sites in
//! guarded pages should be in guarded pages; slots of other sites must not.
//!
//! # Known deviations
//!
//! - In a slot in an unguarded page a copy never faults as a missing landing pad, and an authenticated branch sets BTYPE as from an
//!   unguarded page.
//! - A literal that is read through a register is subject to tag checks (MTE), although a literal load is not.
//! - Hardware that records addresses (BRBE, SPE, trace units) records slot addresses.
//! - A thread in a slot is outside of its restartable sequence (rseq(2)).

mod assemble;
mod class;
mod code;
mod emulate;
mod exclusive;
mod kprobes;
mod plan;
mod refuse;
mod slot;
mod uprobes;

pub use crate::{Exit, Outcome, Progress, SLOT_SIZE};
pub use code::{BREAKPOINT, Code, Place, Scratch};
pub use emulate::{Emulate, Registers};
pub use exclusive::WINDOW;
pub use kprobes::{KprobeDeviation, KprobeRefusal, kprobe, kprobe_at};
pub use plan::{Plan, plan, plan_in};
pub use refuse::Refusal;
pub use slot::Slot;
pub use uprobes::{UprobeDeviation, UprobeRefusal, uprobe};
