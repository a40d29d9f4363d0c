//! Code that does everything that a direct branch does, if the slot is within reach.

use insn::x86::{Bits, Insn};

use super::draft::Draft;
use crate::x86::class::{Class, branch_size, class, next, wrap};
use crate::x86::{Code, Exit, Place, Progress};

/// Size of the longest code in bytes.
const LONGEST: i32 = 27;
/// Bytes of `jcc rel32`.
const JCC: u8 = 6;

fn target(insn: &Insn, pc: u64, distance: i64) -> u64 {
    wrap(insn, next(insn, pc).wrapping_add_signed(distance))
}

/// Whether relative jumps from everywhere in the slot reach the target and the next instruction, and the target is not truncated.
pub(super) fn reaches(draft: &Draft, insn: &Insn, pc: u64, distance: i64) -> bool {
    let width = if insn.mode().bits == Bits::B64 { 8 } else { 4 };
    let is_near = |to| draft.distance(0, to).is_some_and(|distance| distance >= i32::MIN + LONGEST);
    branch_size(insn) == width && is_near(target(insn, pc, distance)) && is_near(next(insn, pc))
}

/// Code for everything that `jmp`, `jcc` or `call` does.
pub(super) fn whole(mut draft: Draft, insn: &Insn, pc: u64, distance: i64) -> Code {
    let mut to = target(insn, pc, distance);
    match class(insn) {
        Class::ConditionalJump(condition, _) => {
            let distance = draft.wrapping_distance(JCC, to);
            draft.push(&[0x0f, 0x80 | condition]);
            draft.push(&distance.to_le_bytes());
            to = next(insn, pc);
        }
        Class::Call(_) => push(&mut draft, insn, pc),
        _ => {}
    }
    draft.mark(to, Progress::After, None);
    draft.jump(to);
    draft.finish(Exit::Jump, None)
}

/// Pushes the return address. The stack pointer changes last, so that everything before it can be repeated.
fn push(draft: &mut Draft, insn: &Insn, pc: u64) {
    let [a, b, c, d, e, f, g, h] = next(insn, pc).to_le_bytes();
    if insn.mode().bits == Bits::B64 {
        // movq $abcd, -8(%rsp); movl $efgh, -4(%rsp); lea -8(%rsp), %rsp. The first write has the checks of a push, for all eight
        // bytes and their alignment.
        draft.push(&[
            0x48, 0xc7, 0x44, 0x24, 0xf8, a, b, c, d, 0xc7, 0x44, 0x24, 0xfc, e, f, g, h, 0x48, 0x8d, 0x64, 0x24, 0xf8,
        ]);
        draft.mark_at(9, Place { pc, progress: Progress::Before, register: None });
        draft.mark_at(17, Place { pc, progress: Progress::Before, register: None });
    } else {
        // push $abcd
        draft.push(&[0x68, a, b, c, d]);
    }
}
