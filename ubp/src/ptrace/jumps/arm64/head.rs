//! What stands at a site.

/// A branch to a trampoline.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Head {
    pub(super) word: u32,
}

impl Head {
    pub(in crate::ptrace) fn bytes(&self) -> [u8; insn::arm64::LEN] {
        self.word.to_le_bytes()
    }
}
