//! Unwinds the stack of a thread on x86.

use std::sync::Arc;

use framehop::FrameAddress;
use framehop::x86_64::{UnwindRegsX86_64, UnwinderX86_64};
pub(crate) use insn::x86::Reg;
use ubp::{Arch, Registers};

use crate::unwind::caller::Caller;
use crate::unwind::sections::Unwinders;

/// The numbers of the stack pointer and the frame pointer in debug information (System V ABI for AMD64, figure 3.36).
pub(crate) const STACK_POINTER: u16 = 7;
pub(crate) const FRAME_POINTER: u16 = 6;
/// The registers that a function leaves to its caller as they were (3.2.1 there).
pub(crate) const KEPT: [u16; 6] = [3, 6, 12, 13, 14, 15];
/// The bits of an address.
pub(crate) const ADDRESSES: u64 = u64::MAX;

/// A general register by its number in debug information, the stack pointer included. `None`: no general register has that number.
pub fn general_register(number: u16) -> Option<Reg> {
    /// The numbers of the first eight in encodings.
    const FIRST: [u8; 8] = [0, 2, 1, 3, 6, 7, 5, 4];
    match number {
        0..=7 => FIRST.get(usize::from(number)).map(|register| Reg::gpr(*register)),
        8..=15 => Some(Reg::gpr(number as u8)),
        _ => None,
    }
}

/// The register by which code finds the storage of its thread.
pub(crate) const THREAD_POINTER: Reg = Reg::FS_BASE;

/// A vector register by its number.
pub(crate) fn vector_register(number: u16) -> Option<Reg> {
    (number < 32).then(|| Reg::vector(number as u8))
}

/// Finds the callers of 64-bit code by unwind information. Frame pointers serve for 32-bit code, and for code without unwind information.
#[derive(Clone)]
pub(crate) struct Stack {
    pub(crate) unwinders: Unwinders<UnwinderX86_64<Arc<[u8]>>>,
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
        if registers.arch() == Arch::I386 {
            return by_frame_pointers(registers, frameless, depth, word);
        }
        let (mut pc, mut stack) = (FrameAddress::from_instruction_pointer(registers.pc().0), registers.sp().0);
        let mut found = Vec::new();
        if frameless {
            let Some(caller) = word(stack, 8).and_then(FrameAddress::from_return_address) else {
                return Vec::new();
            };
            (pc, stack) = (caller, stack.wrapping_add(8));
        }
        let frame = UnwindRegsX86_64::new(pc.address(), stack, registers.get(Reg::RBP).unwrap_or(0));
        if frameless {
            found.push((pc.address(), frame));
        }
        let read = |address| word(address, 8).ok_or(());
        self.unwinders.follow(pc, frame, &mut found, depth, by_debug_alone, read);
        let caller =
            |(address, frame): (u64, UnwindRegsX86_64)| Caller { address, stack: frame.sp(), frame: frame.bp() };
        found.into_iter().map(caller).collect()
    }
}

fn by_frame_pointers(
    registers: &Registers,
    frameless: bool,
    depth: usize,
    mut word: impl FnMut(u64, usize) -> Option<u64>,
) -> Vec<Caller> {
    let mut callers = Vec::new();
    let mut frame = registers.get(Reg::RBP).unwrap_or(0);
    if frameless {
        let stack = registers.sp().0;
        callers.extend(word(stack, 4).map(|address| Caller { address, stack: stack.wrapping_add(4), frame }));
    }
    while callers.len() < depth {
        let (Some(next), Some(address)) = (word(frame, 4), word(frame.wrapping_add(4), 4)) else { break };
        if address == 0 {
            break;
        }
        callers.push(Caller { address, stack: frame.wrapping_add(8), frame: next });
        if next <= frame {
            break;
        }
        frame = next;
    }
    callers
}
