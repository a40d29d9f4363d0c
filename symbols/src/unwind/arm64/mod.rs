//! Unwinds the stack of a thread on AArch64.

use std::sync::Arc;

use framehop::FrameAddress;
use framehop::aarch64::{PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
pub(crate) use insn::arm64::Reg;
use ubp::Registers;

use crate::unwind::caller::Caller;
use crate::unwind::sections::Unwinders;

/// The numbers of the stack pointer and the frame pointer in debug information (DWARF for the Arm 64-bit Architecture, 4.1).
pub(crate) const STACK_POINTER: u16 = 31;
pub(crate) const FRAME_POINTER: u16 = 29;
/// The registers that a function leaves to its caller as they were (AAPCS64, 6.1.1).
pub(crate) const KEPT: [u16; 11] = [19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29];
/// The bits of an address. Those above may be a signature.
pub(crate) const ADDRESSES: u64 = (1 << 48) - 1;

/// A general register by its number in debug information, the stack pointer included. `None`: no general register has that number.
pub fn general_register(number: u16) -> Option<Reg> {
    match number {
        0..=30 => Some(Reg::general(number.into())),
        31 => Some(Reg::general_or_sp(31)),
        _ => None,
    }
}

/// The register by which code finds the storage of its thread.
pub(crate) const THREAD_POINTER: Reg = Reg::TPIDR;

/// A vector register by its number.
pub(crate) fn vector_register(number: u16) -> Option<Reg> {
    (number < 32).then(|| Reg::vector(number.into()))
}

/// Finds callers by unwind information, and by frame pointers for code without unwind information.
#[derive(Clone)]
pub(crate) struct Stack {
    pub(crate) unwinders: Unwinders<UnwinderAarch64<Arc<[u8]>>>,
}

impl Stack {
    pub(crate) fn new() -> Stack {
        Stack { unwinders: Unwinders::new() }
    }

    /// Returns at most `depth` callers, the innermost first.
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
    ) -> Vec<Caller> {
        let [link, frame] = [30, 29].map(|number| registers.get(Reg::general(number)).unwrap_or(0));
        // A signed return address has its signature in the bits above the address (Documentation/arch/arm64/pointer-authentication.rst).
        let mask = PtrAuthMask::from_max_known_address(ADDRESSES);
        let mut pc = FrameAddress::from_instruction_pointer(registers.pc().0);
        let mut found = Vec::new();
        if frameless {
            let Some(caller) = FrameAddress::from_return_address(mask.strip_ptr_auth(link)) else {
                return Vec::new();
            };
            pc = caller;
        }
        let frame = UnwindRegsAarch64::new_with_ptr_auth_mask(mask, link, registers.sp().0, frame);
        if frameless {
            found.push((pc.address(), frame));
        }
        let read = |address| word(address, 8).ok_or(());
        self.unwinders.follow(pc, frame, &mut found, depth, by_debug_alone, read);
        let caller =
            |(address, frame): (u64, UnwindRegsAarch64)| Caller { address, stack: frame.sp(), frame: frame.fp() };
        found.into_iter().map(caller).collect()
    }
}
