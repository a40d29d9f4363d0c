//! `syscall` stores the address of the next instruction in rcx (SDM vol. 2B, SYSCALL); the slot replaces it by the original one.

use insn::x86::{Insn, Reg};

use super::draft::Draft;
use super::restart::restart;
use crate::x86::class::next;
use crate::x86::{Code, Exit, Progress};

/// `syscall; movabs $next, %rcx; jmp next`, or `jmp *%rcx` if the relative jump does not reach. Children of clone, fork and vfork run this
/// code too. The single-step trap of `syscall` occurs after the next instruction, which here is `movabs`.
pub(super) fn assemble(mut draft: Draft, insn: &Insn, pc: u64) -> Code {
    let next = next(insn, pc);
    restart(&mut draft, insn, pc);
    draft.push(insn.bytes());
    draft.mark(next, Progress::After, Some((Reg::RCX, next)));
    draft.push(&[0x48, 0xb9]);
    draft.push(&next.to_le_bytes());
    draft.hold_off();
    if draft.near(next) {
        draft.mark(next, Progress::After, None);
        draft.jump(next);
    } else {
        draft.mark(next, Progress::After, Some((Reg::RCX, next)));
        draft.push(&[0xff, 0xe1]);
    }
    draft.finish(Exit::Jump, None)
}
