//! Instructions of A64, and the breakpoint instruction.

use insn::arm64::ErrorKind;
pub(crate) use insn::arm64::Insn;
pub use insn::arm64::{Error, LEN as MAX_LEN, Reg};
#[cfg(feature = "std")]
use insn::{Flow, Target};
pub use stepping::arm64::{Code, Emulate, Place, Refusal, Slot, plan};
use stepping::arm64::{Plan, WINDOW, plan_in};

/// The breakpoint instruction, `brk` with the immediate that slots use.
pub const BREAKPOINT: [u8; 4] = stepping::arm64::BREAKPOINT.to_le_bytes();
/// The alignment of instructions in bytes.
pub const ALIGNMENT: u64 = 4;
/// Distance in bytes from the breakpoint instruction to the pc of a thread that executed it.
pub const BEHIND: u64 = 0;
/// Whether the code of a slot can stand for a branch as a whole. Over ptrace branches are emulated.
pub const WHOLE_BRANCHES: bool = false;

/// The mode in which code is decoded; A64 has only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Mode;

/// Decodes the instruction at the beginning of `bytes`.
///
/// # Errors
/// `bytes` is shorter than an instruction, or the word is not an instruction.
pub fn decode(bytes: &[u8], _: Mode) -> Result<Insn, Error> {
    match bytes.first_chunk() {
        Some(word) => insn::arm64::decode(u32::from_le_bytes(*word)),
        None => Err(Error { kind: ErrorKind::Undefined, word: 0 }),
    }
}

/// Bytes of code before and after an instruction that decide whether it can carry a breakpoint.
pub const MARGIN: u64 = (WINDOW * MAX_LEN) as u64;

/// Why the code around the instruction at `site`, which is `offset` bytes into `code`, does not permit a breakpoint: between a
/// load-exclusive and its store-exclusive the store would always fail.
pub fn refusal(code: &[u8], offset: usize, site: u64) -> Option<Refusal> {
    // The aligned words around the instruction.
    let before = offset.min(MARGIN as usize) / MAX_LEN;
    let mut words = [0; 2 * WINDOW + 1];
    let mut rest = code.get(offset.saturating_sub(before * MAX_LEN)..).unwrap_or_default();
    let mut length = 0;
    for to in &mut words {
        let Some((word, behind)) = rest.split_first_chunk() else { break };
        (*to, rest) = (u32::from_le_bytes(*word), behind);
        length += 1;
    }
    let words = words.get(..length).unwrap_or_default();
    let insn = insn::arm64::decode(*words.get(before)?).ok()?;
    match plan_in(&insn, site, words, before) {
        Plan::Refuse(refusal) => Some(refusal),
        Plan::Emulate(_) | Plan::Slot(_) => None,
    }
}

/// A mode for tests.
#[cfg(test)]
pub(crate) const MODE: Mode = Mode;

/// The length of an instruction in bytes.
pub fn length(_: &Insn) -> usize {
    MAX_LEN
}

/// Whether a debugger passes the instruction as a whole by running to the next one: a call, though not one of the next instruction.
#[cfg(feature = "std")]
pub(crate) fn is_passed_whole(insn: &Insn) -> bool {
    insn.flow() == Flow::Call && insn.target() != Target::Relative(MAX_LEN as i64)
}

/// Whether the instruction makes a system call.
#[cfg(feature = "std")]
pub(crate) fn enters_kernel(insn: &Insn) -> bool {
    insn.flow() == Flow::Syscall
}
