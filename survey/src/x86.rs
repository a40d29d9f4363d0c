//! x86 code.

use insn::x86::{Insn, Mode, decode};
use stepping::x86::{Plan, plan};
use ubp::{Address, JumpSurvey, JumpSurveyed, NoJump};

use crate::survey::Survey;
use crate::way::{Way, slot_address};

/// Counts all instructions of `code`, which consists of pieces with their addresses. `rests` has the same addresses, with all code from there
/// on, sorted.
pub(crate) fn look(code: &[(u64, &[u8])], rests: &[(u64, &[u8])], mode: Mode, survey: &mut Survey) {
    let mut jumps = JumpSurvey::new();
    for &(start, bytes) in code {
        let whole = rests.binary_search_by_key(&start, |(start, _)| *start).ok().and_then(|at| rests.get(at));
        let whole = whole.map_or(bytes, |(_, rest)| rest);
        for (Address(pc), found) in jumps.in_order(Address(start), whole, bytes.len(), mode) {
            match found {
                JumpSurveyed::Insn(insn, no_jump) => {
                    survey.add(pc, insn.bytes(), way(&insn, pc));
                    survey.add_jump(pc == start, no_jump.map(reason));
                }
                JumpSurveyed::Undecodable(byte, error) => survey.add_undecodable(pc, &[byte], error),
            }
        }
    }
}

/// A reason in words, without its address.
fn reason(no_jump: NoJump) -> String {
    match no_jump {
        NoJump::BranchTarget(_) => "a branch leads into the jump".into(),
        NoJump::OwnTrap(_) => "a breakpoint instruction of the program lies in the jump".into(),
        NoJump::SystemCall(_) => "an instruction in the jump enters the kernel".into(),
        other => other.to_string(),
    }
}

/// Why there is no jump at the first instruction of `bytes`.
pub(crate) fn no_jump_at(bytes: &[u8], pc: u64, mode: Mode) -> Option<String> {
    JumpSurvey::new().no_jump(Address(pc), bytes, mode).map(reason)
}

/// How a thread passes a breakpoint on the first instruction of `bytes`.
pub(crate) fn way_at(bytes: &[u8], pc: u64, mode: Mode) -> Option<Way> {
    decode(bytes, mode).ok().map(|insn| way(&insn, pc))
}

fn way(insn: &Insn, pc: u64) -> Way {
    match plan(insn, pc) {
        Plan::Emulate(_) => Way::Emulated,
        Plan::Slot(slot) => Way::of_slot(slot.exit(slot_address(pc))),
        Plan::Refuse(reason) => Way::Refused(reason.to_string()),
    }
}
