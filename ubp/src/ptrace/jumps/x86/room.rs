//! Room in rings, for which trampolines stop threads.

use trampoline::x86::WhenFull;

use super::super::Ring;

impl Ring {
    /// Whether a record finds a slot.
    pub(in crate::ptrace) fn has_room(&self) -> bool {
        let taken = self.memory.as_ref().map_or(self.done, |memory| memory.load(0));
        self.shape.full == WhenFull::Overwrite || taken.wrapping_sub(self.done) >> self.shape.count == 0
    }
}
