//! Instructions of any architecture, with what every architecture can answer.

mod arm64;
mod cpu;
mod insn;
mod x86;

pub use self::cpu::vendor;
pub use self::insn::Insn;
pub(crate) use self::insn::Step;

/// How code is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// 64-bit or 32-bit x86 code.
    X86(::insn::x86::Mode),
    /// A64.
    Arm64,
}

impl Mode {
    /// This mode, but with every encoding that some processor accepts. It serves where the processor that runs the code is unknown.
    pub fn lenient(self) -> Mode {
        match self {
            Mode::X86(mode) => Mode::X86(mode.lenient()),
            Mode::Arm64 => Mode::Arm64,
        }
    }

    /// The alignment of instructions in bytes.
    pub fn alignment(self) -> u64 {
        match self {
            Mode::X86(_) => 1,
            Mode::Arm64 => ::insn::arm64::LEN as u64,
        }
    }
}

/// Length, flow and target of the instruction at the start of `bytes`, which are at the address `pc`.
pub(crate) fn step(bytes: &[u8], pc: u64, mode: Mode) -> Option<Step> {
    match mode {
        Mode::X86(mode) => x86::step(bytes, pc, mode),
        Mode::Arm64 => {
            arm64::decode(bytes, pc).map(|insn| Step { len: insn.len, flow: insn.flow, target: insn.target })
        }
    }
}

/// Decodes the instruction at the start of `bytes`, which are at the address `pc`.
pub fn decode(bytes: &[u8], pc: u64, mode: Mode) -> Option<Insn> {
    match mode {
        Mode::X86(mode) => x86::decode(bytes, pc, mode),
        Mode::Arm64 => arm64::decode(bytes, pc),
    }
}
