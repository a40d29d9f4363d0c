//! Architecture-specific parts: x86-64 and i386.

mod code;
#[cfg(feature = "std")]
mod cpu;
mod reach;
#[cfg(feature = "std")]
mod registers;
#[cfg(feature = "std")]
mod vector;

#[cfg(test)]
pub(crate) use self::code::MODE;
pub use self::code::{
    ALIGNMENT, BEHIND, BREAKPOINT, Code, Emulate, Error, MARGIN, MAX_LEN, Mode, Place, Refusal, Reg, Slot,
    WHOLE_BRANCHES, decode, length, plan, refusal,
};
#[cfg(feature = "std")]
pub(crate) use self::code::{Insn, enters_kernel, is_passed_whole};
#[cfg(feature = "std")]
pub(crate) use self::cpu::mode;
pub use self::reach::{PAGE, REACH, reaches};
#[cfg(feature = "std")]
pub(crate) use self::registers::{
    ARGUMENTS, GOROUTINE, MACHINES, SHOWN, STACK, USER32_CS, arch, get, is_comparable, pc, set, set_pc, sp, way_back,
};
#[cfg(feature = "std")]
pub(crate) use self::vector::{VECTOR_SETS, is_settable, use_component, vector_parts};

/// Why the kernel module does not watch memory; empty if it does.
#[cfg(feature = "std")]
pub(crate) const MODULE_CANNOT_WATCH: &str = "";
