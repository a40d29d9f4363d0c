//! `xbegin` names its abort handler by a distance (SDM vol. 2D, XBEGIN).

use insn::x86::Insn;

use super::draft::Draft;
use crate::x86::class::{next, wrap};
use crate::x86::slot::{Code, Exit, Progress};

/// The copy with its distance rewritten, and a jump back.
///
/// An abort handler out of reach is reached by a jump in the slot; where that does not fit, the abort runs into an `int3`
/// whose place is the handler.
pub(super) fn assemble(mut draft: Draft, insn: &Insn, pc: u64, distance: i64) -> Code {
    let next = next(insn, pc);
    let handler = wrap(insn, next.wrapping_add_signed(distance));
    let end = insn.len() as u8;
    let back = draft.jump_len(end, next) as u8;
    let reach = draft.distance(end, handler);
    let operand = insn.len().saturating_sub(4);
    draft.push(insn.bytes().get(..operand).unwrap_or(&[]));
    draft.push(&reach.unwrap_or(i32::from(back)).to_le_bytes());
    draft.mark(next, Progress::After, None);
    draft.jump(next);
    if reach.is_none() {
        draft.mark(handler, Progress::After, None);
        if draft.jump_len(0, handler) <= draft.room() {
            draft.jump(handler);
        }
    }
    draft.finish(Exit::Jump, None)
}
