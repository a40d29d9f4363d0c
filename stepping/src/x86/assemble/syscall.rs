//! `syscall` leaves the address of the next instruction in rcx (SDM vol. 2B, SYSCALL): the slot puts the original's there.

use insn::x86::{Insn, Reg};

use super::draft::Draft;
use crate::x86::class::next;
use crate::x86::slot::{Code, Exit, Progress};

/// Bytes of `movabs $imm64, %rcx`.
const LOAD: u8 = 10;

/// `syscall; movabs $next, %rcx; jmp next`. The children of clone, fork and vfork run it too.
///
/// Where that does not fit (many prefixes and a far site) the thread traps behind the copy and the place there says what
/// rcx gets.
pub(super) fn assemble(mut draft: Draft, insn: &Insn, pc: u64) -> Code {
    let next = next(insn, pc);
    super::restart(&mut draft, insn, pc);
    draft.push(insn.bytes());
    draft.mark(next, Progress::After, Some((Reg::RCX, next)));
    if usize::from(LOAD) + draft.jump_len(LOAD, next) > draft.room() {
        let end = draft.len();
        return draft.finish(Exit::Trap(end), None);
    }
    draft.push(&[0x48, 0xb9]);
    draft.push(&next.to_le_bytes());
    draft.mark(next, Progress::After, None);
    draft.jump(next);
    draft.finish(Exit::Jump, None)
}
