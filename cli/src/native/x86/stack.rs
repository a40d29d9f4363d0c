//! The frames on a thread's stack.

use std::sync::Arc;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{Module, Unwinder as _};
use insn::x86::Reg;
use ubp::{Arch, Registers};

use crate::process::return_addresses;

/// Finds the callers of 64-bit code by unwind information, of 32-bit code by frame pointers.
pub(crate) struct Stack {
    unwinder: UnwinderX86_64<Arc<[u8]>>,
    cache: CacheX86_64,
}

impl Clone for Stack {
    /// A clone starts with nothing learnt.
    fn clone(&self) -> Stack {
        Stack { unwinder: self.unwinder.clone(), cache: CacheX86_64::new() }
    }
}

impl Stack {
    pub(crate) fn new() -> Stack {
        Stack { unwinder: UnwinderX86_64::new(), cache: CacheX86_64::new() }
    }

    /// Takes the unwind information of code in memory.
    pub(crate) fn add(&mut self, module: Module<Arc<[u8]>>) {
        self.unwinder.add_module(module);
    }

    /// At most `depth` return addresses, the nearest first. `word` reads a word of so many bytes; `at_start`: the thread is at a
    /// function's first instruction, whose frame is not built yet.
    pub(crate) fn callers(
        &mut self,
        registers: &Registers,
        at_start: bool,
        depth: usize,
        mut word: impl FnMut(u64, usize) -> Option<u64>,
    ) -> Vec<u64> {
        if registers.arch() == Arch::I386 {
            return by_frame_pointers(registers, at_start, depth, word);
        }
        let pc = registers.pc().0;
        let frame = registers.get(Reg::RBP).unwrap_or(0);
        let start = UnwindRegsX86_64::new(pc, registers.sp().0, frame);
        let mut read = |address| word(address, 8).ok_or(());
        let mut frames = self.unwinder.iter_frames(pc, start, &mut self.cache, &mut read);
        return_addresses(|| frames.next().ok().flatten(), depth)
    }
}

fn by_frame_pointers(
    registers: &Registers,
    at_start: bool,
    depth: usize,
    mut word: impl FnMut(u64, usize) -> Option<u64>,
) -> Vec<u64> {
    let mut callers = Vec::new();
    if at_start {
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
