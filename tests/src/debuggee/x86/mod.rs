use insn::x86::decode;
use object::Object;

pub(super) use insn::x86::Mode;

/// How a program's code is read.
pub(super) fn mode(file: &object::File<'_>) -> Mode {
    if file.is_64() { Mode::INTEL_64 } else { Mode::INTEL_32 }
}

/// The length of the instruction that `code` begins with.
pub(super) fn length(code: &[u8], mode: Mode) -> Option<usize> {
    decode(code, mode).ok().map(|insn| insn.len())
}
