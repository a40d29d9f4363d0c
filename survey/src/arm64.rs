//! A64 code.

use insn::arm64::{Insn, LEN, decode};
use stepping::arm64::{Plan, plan_in};
use ubp::{Address, JumpSurvey};

use crate::survey::Survey;
use crate::way::{Way, slot_address};
use crate::words::words;

/// Counts all instructions of `code`, which consists of pieces with their addresses.
pub(crate) fn look(code: &[(u64, &[u8])], survey: &mut Survey) {
    let mut pieces = code.iter().peekable();
    while let Some(&(start, bytes)) = pieces.next() {
        // Adjacent pieces are joined, since a sequence of instructions may cross their border.
        let mut bytes = bytes.to_vec();
        while let Some((_, more)) = pieces.next_if(|(next, _)| *next == start + bytes.len() as u64 && next % 4 == 0) {
            bytes.extend_from_slice(more);
        }
        look_at(start, &bytes, survey);
    }
}

/// Whether no sequence of instructions crosses the border of two pieces.
pub(crate) fn is_apart(before: (u64, &[u8]), after: (u64, &[u8])) -> bool {
    before.0.wrapping_add(before.1.len() as u64) != after.0
}

fn look_at(start: u64, bytes: &[u8], survey: &mut Survey) {
    let code: Vec<u32> = words(bytes).collect();
    let rest = bytes.get(code.len() * LEN..).unwrap_or_default();
    for (index, (&word, pc)) in code.iter().zip((start..).step_by(LEN)).enumerate() {
        match decode(word) {
            Ok(insn) => survey.add(pc, &word.to_le_bytes(), way(&insn, pc, &code, index)),
            Err(error) => survey.add_undecodable(pc, &word.to_le_bytes(), error),
        }
    }
    if !rest.is_empty() {
        survey.add_undecodable(start + (bytes.len() - rest.len()) as u64, rest, "less than a word");
    }
}

/// How a thread passes a breakpoint on the instruction at `pc`. `bytes_at` reads the code, whose neighbours decide whether the instruction
/// belongs to an exclusive sequence.
pub(crate) fn way_at<'a>(pc: u64, bytes_at: impl Fn(u64) -> Option<&'a [u8]>) -> Option<Way> {
    let (code, index) = around(pc, bytes_at)?;
    let insn = decode(*code.get(index)?).ok()?;
    Some(way(&insn, pc, &code, index))
}

/// Why there is no jump at `pc`; `bytes_at` reads the code.
pub(crate) fn no_jump_at<'a>(pc: u64, bytes_at: impl Fn(u64) -> Option<&'a [u8]>) -> Option<String> {
    let (code, index) = around(pc, bytes_at).unwrap_or_default();
    JumpSurvey::no_jump_on_arm64(Address(pc), &code, index).map(|reason| reason.to_string())
}

/// The words around `pc`, and the index of its own.
fn around<'a>(pc: u64, bytes_at: impl Fn(u64) -> Option<&'a [u8]>) -> Option<(Vec<u32>, usize)> {
    /// The neighbours on each side that are looked at, in words.
    const NEAR: u64 = 64;
    let start = (0..=NEAR).rev().map(|words| pc.wrapping_sub(words * LEN as u64)).find(|at| bytes_at(*at).is_some())?;
    let index = usize::try_from(pc.wrapping_sub(start)).ok()? / LEN;
    let bytes = bytes_at(start)?;
    let code = words(bytes.get(..(index + NEAR as usize) * LEN).unwrap_or(bytes)).collect();
    Some((code, index))
}

fn way(insn: &Insn, pc: u64, code: &[u32], index: usize) -> Way {
    match plan_in(insn, pc, code, index) {
        Plan::Emulate(_) => Way::Emulated,
        Plan::Slot(slot) => Way::of_slot(slot.assemble(slot_address(pc)).map(|code| code.exit)),
        Plan::Refuse(reason) => Way::Refused(reason.to_string()),
    }
}
