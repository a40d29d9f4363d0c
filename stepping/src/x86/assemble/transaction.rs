//! `xbegin`, whose operand is the distance of its abort handler (SDM vol. 2D, XBEGIN).

use insn::x86::Insn;

use super::draft::{Draft, INT3};
use crate::x86::class::{next, wrap};
use crate::x86::{Code, Exit, Progress};

/// A copy with a rewritten distance, and a jump back.
///
/// If the abort handler is out of reach, an abort leads to an `int3` that means the handler's address. If there is no room for a jump back,
/// an `int3` replaces it, which aborts the transaction as any trap does.
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
