use std::hint::black_box;

use insn::x86::{Insn, Mode, decode};
use stepping::x86::{Plan, plan};
use ubp::{Address, JumpSurvey, NoJump};

use super::report::{Survey, Way};
use super::sweep::{Found, sweep};
use crate::commands::slot::slot_address;
use crate::disassembly::Disassembler;
use crate::hex;

/// Counts all instructions of `code`, which consists of pieces with their addresses. `rests` has the same addresses, with all code from there
/// on, sorted.
pub(super) fn look(code: &[(u64, &[u8])], rests: &[(u64, &[u8])], mode: Mode, survey: &mut Survey) {
    let (mut disassembler, mut jumps) = (Disassembler::new(), JumpSurvey::new());
    for &(start, bytes) in code {
        let whole = rests.binary_search_by_key(&start, |(start, _)| *start).ok().and_then(|at| rests.get(at));
        let whole = whole.map_or(bytes, |(_, rest)| rest);
        for (pc, found) in sweep(bytes, start, mode) {
            match found {
                Found::Insn(insn) => {
                    let (hex, text) = (insn.bytes(), || disassembler.text(insn.bytes(), pc, insn.mode()));
                    survey.add(pc, way(&insn, pc), || hex::plain(hex), text);
                    let rest = whole.get(pc.wrapping_sub(start) as usize..).unwrap_or_default();
                    let no_jump = jumps.no_jump(Address(pc), rest, mode);
                    survey.add_jump(pc == start, no_jump.map(reason));
                }
                Found::Undecodable(byte, error) => survey.add_undecodable(pc, &[byte], &error.to_string()),
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

/// How a thread passes a breakpoint on the first instruction of `bytes`.
pub(super) fn way_at(bytes: &[u8], pc: u64, mode: Mode) -> Option<Way> {
    decode(bytes, mode).ok().map(|insn| way(&insn, pc))
}

fn way(insn: &Insn, pc: u64) -> Way {
    match plan(insn, pc) {
        Plan::Emulate(_) => Way::Emulated,
        Plan::Slot(slot) => Way::of_slot(slot.exit(slot_address(pc))),
        Plan::Refuse(reason) => Way::Refused(reason.to_string()),
    }
}

/// Decodes and classifies all code. Returns the number of instructions.
pub(super) fn decode_all(code: &[(u64, &[u8])], mode: Mode) -> u64 {
    let mut count = 0;
    for (_, bytes) in code {
        let mut rest = *bytes;
        while !rest.is_empty() {
            let len = match decode(rest, mode) {
                Ok(insn) => {
                    count += 1;
                    black_box(insn.flow());
                    insn.len()
                }
                Err(_) => 1,
            };
            rest = rest.get(len..).unwrap_or_default();
        }
    }
    count
}
