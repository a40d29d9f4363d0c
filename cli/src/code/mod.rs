//! Instructions of whatever architecture, as far as the same is asked of all of them.

mod arm64;
mod x86;

use insn::Flow;

/// How code is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// 64-bit or 32-bit code of x86.
    X86(insn::x86::Mode),
    /// A64.
    Arm64,
}

impl Mode {
    /// The same, where the code of some is in doubt: with all that processors accept.
    pub(crate) fn lenient(self) -> Mode {
        match self {
            Mode::X86(mode) => Mode::X86(mode.lenient()),
            Mode::Arm64 => Mode::Arm64,
        }
    }

    /// Bytes to whose multiples instructions are aligned.
    pub(crate) fn alignment(self) -> u64 {
        match self {
            Mode::X86(_) => 1,
            Mode::Arm64 => insn::arm64::LEN as u64,
        }
    }
}

/// An instruction at its address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Insn {
    /// In bytes.
    pub(crate) len: usize,
    pub(crate) flow: Flow,
    /// Where a direct branch goes.
    pub(crate) target: Option<u64>,
    /// Bytes at its beginning without which it is an instruction, too.
    pub(crate) prefixes: usize,
    /// Whether it does nothing, as what assemblers put between functions.
    pub(crate) is_padding: bool,
}

impl Insn {
    /// The instruction that `bytes`, which lie at `pc`, begin with.
    pub(crate) fn decode(bytes: &[u8], pc: u64, mode: Mode) -> Option<Insn> {
        match mode {
            Mode::X86(mode) => x86::decode(bytes, pc, mode),
            Mode::Arm64 => arm64::decode(bytes, pc),
        }
    }
}
