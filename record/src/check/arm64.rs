//! Steps of arm64.

use insn::arm64::{Exclusive, Insn, Kind, LEN, decode};
use insn::{Flow, Target};

use super::mismatch::Wrong;
use crate::item::{Next, Step};

/// `rt_sigreturn` (asm-generic/unistd.h).
const RT_SIGRETURN: u64 = 139;

/// What is wrong with a step, of which the code is known; `call` is the number of the system call that it makes, and `goes_on` says
/// whether the instruction before it was run in one step with it.
pub(super) fn wrong(step: &Step, call: Option<u64>, goes_on: bool) -> Option<Wrong> {
    let word = step.code.bytes().first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let insn = match (decode(word), step.next) {
        (Ok(insn), _) => insn,
        // It may have faulted for just that.
        (Err(_), Next::Unfinished) => return None,
        (Err(error), _) => return Some(Wrong::Undefined(error)),
    };
    match step.next {
        Next::Unfinished => None,
        // From a load-exclusive on the processor is not stopped until its store is done or out of reach.
        Next::Unseen(next) if goes_on || insn.exclusive() == Some(Exclusive::Load) => flow(&insn, step.pc, next, None),
        Next::Unseen(_) => Some(Wrong::Unseen),
        Next::At(next) => flow(&insn, step.pc, next, call),
    }
}

/// How many words before it the first of three instructions that copy or set memory is.
fn behind_prologue(kind: Kind) -> Option<u64> {
    match kind {
        Kind::MemoryPrologue => Some(0),
        Kind::MemoryMain => Some(1),
        Kind::MemoryEpilogue => Some(2),
        _ => None,
    }
}

fn flow(insn: &Insn, pc: u64, seen: u64, call: Option<u64>) -> Option<Wrong> {
    let next = pc.wrapping_add(LEN as u64);
    let target = insn.target_address(pc);
    let length = || (seen != next).then_some(Wrong::Length(next));
    match insn.flow() {
        // The kernel has a copy begun anew on another processor (arch/arm64/include/asm/traps.h, `arm64_mops_reset_regs`).
        Flow::Next if behind_prologue(insn.kind()).is_some_and(|words| pc.wrapping_sub(seen) <= 4 * words) => None,
        Flow::Next | Flow::Privileged => length(),
        Flow::Jump | Flow::Call => target.filter(|&target| target != seen).map(Wrong::Target),
        Flow::ConditionalJump => match target {
            Some(target) if seen != next && seen != target => Some(Wrong::Condition { next, target }),
            None if insn.target() == Target::None => length(),
            _ => None,
        },
        Flow::Syscall if call == Some(RT_SIGRETURN) => None,
        Flow::Syscall => length(),
        // `brk` and `hlt` stay where they are.
        Flow::Trap | Flow::Faulting => Some(Wrong::Faulting),
        _ => None,
    }
}
