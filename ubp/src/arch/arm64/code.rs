//! Instructions: how they are read, and the one that stops a thread.

pub use insn::arm64::{Error, LEN as MAX_LEN, Reg};
use insn::arm64::{ErrorKind, Insn};
pub use stepping::arm64::{Code, Emulate, Place, Refusal, Slot, plan};
use stepping::arm64::{Plan, WINDOW, plan_in};

/// `brk`, as in slots.
pub const BREAKPOINT: [u8; 4] = stepping::arm64::BREAKPOINT.to_le_bytes();
/// What the address of every instruction is a multiple of.
pub const ALIGNMENT: u64 = 4;
/// How far behind the first byte of the breakpoint instruction a thread's pc is that ran into it.
pub const BEHIND: u64 = 0;

/// How code is read: there is one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Mode;

/// The instruction that `bytes` begin with.
///
/// # Errors
/// It is none, or there are not enough of them.
pub fn decode(bytes: &[u8], _: Mode) -> Result<Insn, Error> {
    match bytes.first_chunk() {
        Some(word) => insn::arm64::decode(u32::from_le_bytes(*word)),
        None => Err(Error { kind: ErrorKind::Undefined, word: 0 }),
    }
}

/// Bytes of code before and behind an instruction that decide whether it can carry a breakpoint.
pub const MARGIN: u64 = (WINDOW * MAX_LEN) as u64;

/// Why the instruction at `site`, `offset` bytes into `code`, cannot carry a breakpoint where it stands: between a load and a store
/// that are exclusive the store would fail for ever.
pub fn refusal(code: &[u8], offset: usize, site: u64) -> Option<Refusal> {
    // The words around it, which lie as it does.
    let before = offset.min(MARGIN as usize) / MAX_LEN;
    let mut words = [0; 2 * WINDOW + 1];
    let code = code.get(offset.saturating_sub(before * MAX_LEN)..).unwrap_or_default();
    let mut length = 0;
    for (to, word) in words.iter_mut().zip(code.chunks_exact(MAX_LEN)) {
        *to = word.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        length += 1;
    }
    let words = words.get(..length).unwrap_or_default();
    let insn = insn::arm64::decode(*words.get(before)?).ok()?;
    match plan_in(&insn, site, words, before) {
        Plan::Refuse(refusal) => Some(refusal),
        Plan::Emulate(_) | Plan::Slot(_) => None,
    }
}

/// Some way to read code, for tests that need any.
#[cfg(test)]
pub(crate) const MODE: Mode = Mode;

/// Bytes of an instruction.
pub fn length(_: &Insn) -> usize {
    MAX_LEN
}
