//! `xbegin` names its abort handler by a distance (SDM vol. 2D, XBEGIN).

use insn::x86::Insn;

use super::draft::{Draft, INT3};
use crate::x86::class::{next, wrap};
use crate::x86::{Code, Exit, Progress};

/// The copy with its distance rewritten, and a jump back.
///
/// Where the abort handler is out of reach, the abort runs into an `int3` whose place is the handler. A jump back that has no
/// room is an `int3` too: within the transaction it aborts, as any trap does.
pub(super) fn assemble(mut draft: Draft, insn: &Insn, pc: u64, distance: i64) -> Code {
    let next = next(insn, pc);
    let handler = wrap(insn, next.wrapping_add_signed(distance));
    let end = insn.len() as u8;
    let reach = draft.distance(end, handler);
    let operand = insn.len().saturating_sub(4);
    draft.push(insn.bytes().get(..operand).unwrap_or(&[]));
    let patched = draft.len();
    draft.push(&reach.unwrap_or(0).to_le_bytes());
    draft.mark(next, Progress::After, None);
    if draft.fits(next) {
        draft.jump(next);
    } else {
        draft.push(&[INT3]);
    }
    if reach.is_none() {
        draft.patch(patched, draft.len().saturating_sub(end));
        draft.mark(handler, Progress::After, None);
    }
    draft.finish(Exit::Jump, None)
}
