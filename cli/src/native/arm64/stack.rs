//! The frames on a thread's stack.

use std::sync::Arc;

use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use framehop::{Module, Unwinder as _};
use insn::arm64::Reg;
use ubp::Registers;

use crate::process::return_addresses;

/// Finds callers by unwind information.
pub(crate) struct Stack {
    unwinder: UnwinderAarch64<Arc<[u8]>>,
    cache: CacheAarch64,
}

impl Clone for Stack {
    /// A clone starts with nothing learnt.
    fn clone(&self) -> Stack {
        Stack { unwinder: self.unwinder.clone(), cache: CacheAarch64::new() }
    }
}

impl Stack {
    pub(crate) fn new() -> Stack {
        Stack { unwinder: UnwinderAarch64::new(), cache: CacheAarch64::new() }
    }

    /// Takes the unwind information of code in memory.
    pub(crate) fn add(&mut self, module: Module<Arc<[u8]>>) {
        self.unwinder.add_module(module);
    }

    /// At most `depth` return addresses, the nearest first. `word` reads a word of so many bytes; at a function's first instruction
    /// the nearest is in x30, as unwind information says.
    pub(crate) fn callers(
        &mut self,
        registers: &Registers,
        _at_start: bool,
        depth: usize,
        mut word: impl FnMut(u64, usize) -> Option<u64>,
    ) -> Vec<u64> {
        let pc = registers.pc().0;
        let [link, frame] = [30, 29].map(|number| registers.get(Reg::general(number)).unwrap_or(0));
        // Return addresses may be signed, in the bits above those of an address (Documentation/arch/arm64/pointer-authentication.rst).
        let mask = PtrAuthMask::from_max_known_address((1 << 48) - 1);
        let start = UnwindRegsAarch64::new_with_ptr_auth_mask(mask, link, registers.sp().0, frame);
        let mut read = |address| word(address, 8).ok_or(());
        let mut frames = self.unwinder.iter_frames(pc, start, &mut self.cache, &mut read);
        return_addresses(|| frames.next().ok().flatten(), depth)
    }
}
