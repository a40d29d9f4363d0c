use insn::arm64::{LEN, decode};

/// How a program's code is read: there is one way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode;

pub(super) fn mode(_: &object::File<'_>) -> Mode {
    Mode
}

/// The length of the instruction that `code` begins with.
pub(super) fn length(code: &[u8], _: Mode) -> Option<usize> {
    decode(u32::from_le_bytes(*code.first_chunk()?)).ok().map(|_| LEN)
}
