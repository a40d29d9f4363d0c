//! Unwinds the stack of a thread on x86.

use std::sync::Arc;

use framehop::FrameAddress;
use framehop::x86_64::{UnwindRegsX86_64, UnwinderX86_64};
use insn::x86::Reg;
use ubp::{Arch, Registers};

use crate::unwind::sections::Unwinders;

/// Finds the callers of 64-bit code by unwind information. Frame pointers serve for 32-bit code, and for code without unwind information.
#[derive(Clone)]
pub(crate) struct Stack {
    pub(crate) unwinders: Unwinders<UnwinderX86_64<Arc<[u8]>>>,
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
        if registers.arch() == Arch::I386 {
            return by_frame_pointers(registers, frameless, depth, word);
        }
        let (mut pc, mut stack) = (FrameAddress::from_instruction_pointer(registers.pc().0), registers.sp().0);
        let mut found = Vec::new();
        if frameless {
            let Some(caller) = word(stack, 8).and_then(FrameAddress::from_return_address) else { return found };
            found.push(caller.address());
            (pc, stack) = (caller, stack.wrapping_add(8));
        }
        let frame = UnwindRegsX86_64::new(pc.address(), stack, registers.get(Reg::RBP).unwrap_or(0));
        let read = |address| word(address, 8).ok_or(());
        self.unwinders.follow(pc, frame, &mut found, depth, by_debug_alone, read);
        found
    }
}

fn by_frame_pointers(
    registers: &Registers,
    frameless: bool,
    depth: usize,
    mut word: impl FnMut(u64, usize) -> Option<u64>,
) -> Vec<u64> {
    let mut callers = Vec::new();
    if frameless {
        callers.extend(word(registers.sp().0, 4));
    }
    let mut frame = registers.get(Reg::RBP).unwrap_or(0);
    while callers.len() < depth {
        let (Some(next), Some(address)) = (word(frame, 4), word(frame.wrapping_add(4), 4)) else { break };
        if address == 0 {
            break;
        }
        callers.push(address);
        if next <= frame {
            break;
        }
        frame = next;
    }
    callers
}
