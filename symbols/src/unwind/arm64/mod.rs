//! Unwinds the stack of a thread on AArch64.

use std::sync::Arc;

use framehop::FrameAddress;
use framehop::aarch64::{PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use insn::arm64::Reg;
use ubp::Registers;

use crate::unwind::sections::Unwinders;

/// Finds callers by unwind information, and by frame pointers for code without unwind information.
#[derive(Clone)]
pub(crate) struct Stack {
    pub(crate) unwinders: Unwinders<UnwinderAarch64<Arc<[u8]>>>,
}

impl Stack {
    pub(crate) fn new() -> Stack {
        Stack { unwinders: Unwinders::new() }
    }

    /// Returns at most `depth` return addresses, the innermost first.
    ///
    /// `frameless` states that the thread is at a function's first instruction, whose frame is not set up yet, and that no unwind
    /// information describes it. `word` reads a word of a given size in bytes. `by_debug_alone`: see [`Unwinders::follow`].
    pub(crate) fn callers(
        &mut self,
        registers: &Registers,
        frameless: bool,
        depth: usize,
        by_debug_alone: impl Fn(u64) -> bool,
        mut word: impl FnMut(u64, usize) -> Option<u64>,
    ) -> Vec<u64> {
        let [link, frame] = [30, 29].map(|number| registers.get(Reg::general(number)).unwrap_or(0));
        // A signed return address has its signature in the bits above the address (Documentation/arch/arm64/pointer-authentication.rst).
        let mask = PtrAuthMask::from_max_known_address((1 << 48) - 1);
        let mut pc = FrameAddress::from_instruction_pointer(registers.pc().0);
        let mut found = Vec::new();
        if frameless {
            let Some(caller) = FrameAddress::from_return_address(mask.strip_ptr_auth(link)) else { return found };
            found.push(caller.address());
            pc = caller;
        }
        let frame = UnwindRegsAarch64::new_with_ptr_auth_mask(mask, link, registers.sp().0, frame);
        let read = |address| word(address, 8).ok_or(());
        self.unwinders.follow(pc, frame, &mut found, depth, by_debug_alone, read);
        found
    }
}
