//! What stands at a site.

use trampoline::x86::{Displacement, JUMP_LEN, jump};

/// A jump to a mirror.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Head {
    pub(super) displacement: Displacement,
}

impl Head {
    pub(in crate::ptrace) fn bytes(&self) -> [u8; JUMP_LEN] {
        jump(self.displacement)
    }
}
