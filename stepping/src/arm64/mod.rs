//! A64.
//!
//! # Which class gets which plan
//!
//! | class | plan |
//! |---|---|
//! | `b`, `bl`, `b.cond`, `bc.cond`, `cbz`, `tbz`, CMPBR, `br`, `blr`, `ret` | emulate; calls and returns keep a guarded control stack, indirect branches leave their BTYPE |
//! | `adr`, `adrp`, `ldr` and `ldrsw` of a literal to a general register | emulate; register 31 is xzr |
//! | `nop`, `bti`, `prfm` of a literal, the program's own `brk` | emulate |
//! | `ldr` of a literal to a vector register | distance rewritten within reach; else a scratch register, and a trap behind the copy |
//! | `braa`, `retaa` and their like | copy; control never comes back |
//! | `blraa` and its like | single-stepped, then the return address corrected |
//! | `autiasppc`, `retaasppc` and their like | with the address in a scratch register |
//! | `ldxr` and its like | boosted, refused where the slot is too far for that |
//! | what stands between `ldxr` and `stxr`, and `stxr` | refused by name, with the nearest addresses that will do |
//! | `cpym`, `cpye`, `setm`, `sete` | boosted, with the instructions before them, to which the kernel goes back |
//! | `movprfx` | copy, then a trap: it may not stand before a branch |
//! | `paciasppc` and its like, `pacm` and what follows it | refused by name |
//! | everything else, among it `svc`, `mrs`, `msr`, `wfe`, pointer authentication of data, LSE, SVE, SME, MTE, barriers, `dc`, `ic`, and what is undefined at EL0 | boosted; faults are translated to the site |
//!
//! Within ±128 MiB a branch leads back; elsewhere the slot ends with a trap.
//!
//! # BTYPE
//!
//! `brk` is a landing pad of every kind (Arm ARM C6.2, BRK), so a thread comes to it with the BTYPE of the branch that led there. Emulation
//! checks it where [`Registers::guarded`] says so. A copy is checked by the processor, where the slot lies in a guarded
//! page: slots of sites in guarded pages should, those of other sites must not.
//!
//! # Known deviations
//!
//! - Where slots lie in unguarded pages a copy is no missing landing pad, and authenticated branches out of a slot are as those out of
//!   an unguarded page.
//! - A literal that is read through a register is checked for its memory's tag (MTE), where a literal is not.
//! - Hardware that records addresses (BRBE, SPE, trace units) sees slots.
//! - A thread in a slot is not in its restartable sequence (rseq(2)).

mod assemble;
mod class;
mod code;
mod emulate;
mod exclusive;
mod plan;
mod refuse;
mod slot;

pub use crate::{Exit, Outcome, Progress, SLOT_SIZE};
pub use code::{BREAKPOINT, Code, Place, Scratch};
pub use emulate::{Emulate, Registers};
pub use exclusive::WINDOW;
pub use plan::{Plan, plan, plan_in};
pub use refuse::Refusal;
pub use slot::Slot;
