//! Threads that trap in the bytes that a jump covers.

use trampoline::x86::{Trap, covered};

use super::super::{Jump, Jumps};

impl Jumps {
    /// The jump whose run a thread entered that trapped at `pc`, by a trap of this kind, and the offset of the byte.
    pub(in crate::ptrace) fn entered(&self, kind: Trap, pc: u64) -> Option<(&Jump, u8)> {
        let at = pc.wrapping_sub(kind.distance());
        let jump = self.over(at)?;
        let is_further = || kind == Trap::Breakpoint && jump.is_further(at);
        let further = || is_further().then(|| (at - jump.site) as u8);
        Some((jump, covered(jump.site, jump.head.displacement, kind, pc).or_else(further)?))
    }
}
