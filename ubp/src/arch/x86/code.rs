//! Instructions: how they are read, and the one that stops a thread.

use insn::x86::Insn;
pub use insn::x86::{Error, MAX_LEN, Mode, Reg, decode};
pub use stepping::x86::{Code, Emulate, Place, Refusal, Slot, plan};

/// `int3`
pub const BREAKPOINT: [u8; 1] = [0xcc];
/// What the address of every instruction is a multiple of.
pub const ALIGNMENT: u64 = 1;
/// How far behind the first byte of the breakpoint instruction a thread's pc is that ran into it.
pub const BEHIND: u64 = 1;

/// Bytes of code before and behind an instruction that decide whether it can carry a breakpoint.
pub const MARGIN: u64 = 0;

/// Why the instruction at `site`, `offset` bytes into `code`, cannot carry a breakpoint where it stands.
pub fn refusal(_code: &[u8], _offset: usize, _site: u64) -> Option<Refusal> {
    None
}

/// Some way to read code, for tests that need any.
#[cfg(test)]
pub(crate) const MODE: Mode = Mode::AMD_64;

/// Bytes of an instruction.
pub fn length(insn: &Insn) -> usize {
    insn.len()
}
