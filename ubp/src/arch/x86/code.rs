//! Instructions of x86, and the breakpoint instruction.

use insn::x86::Insn;
pub use insn::x86::{Error, MAX_LEN, Mode, Reg, decode};
pub use stepping::x86::{Code, Emulate, Place, Refusal, Slot, plan};

/// The breakpoint instruction, `int3`.
pub const BREAKPOINT: [u8; 1] = [0xcc];
/// The alignment of instructions in bytes.
pub const ALIGNMENT: u64 = 1;
/// Distance in bytes from the breakpoint instruction to the pc of a thread that executed it.
pub const BEHIND: u64 = 1;

/// Bytes of code before and after an instruction that decide whether it can carry a breakpoint.
pub const MARGIN: u64 = 0;

/// Why the code around the instruction at `site`, which is `offset` bytes into `code`, does not permit a breakpoint; on x86 it always does.
pub fn refusal(_code: &[u8], _offset: usize, _site: u64) -> Option<Refusal> {
    None
}

/// A mode for tests.
#[cfg(test)]
pub(crate) const MODE: Mode = Mode::AMD_64;

/// The length of an instruction in bytes.
pub fn length(insn: &Insn) -> usize {
    insn.len()
}
