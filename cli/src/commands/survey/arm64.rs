use std::hint::black_box;

use insn::arm64::{Insn, LEN, decode};
use stepping::arm64::{Plan, plan_in};

use super::report::{Survey, Way};
use crate::commands::slot::slot_address;
use crate::disassembly::arm64_text;
use crate::hex;

/// Counts all instructions of `code`, which consists of pieces with their addresses.
pub(super) fn look(code: &[(u64, &[u8])], survey: &mut Survey) {
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
pub(super) fn is_apart(before: (u64, &[u8]), after: (u64, &[u8])) -> bool {
    before.0.wrapping_add(before.1.len() as u64) != after.0
}

fn look_at(start: u64, bytes: &[u8], survey: &mut Survey) {
    let words: Vec<u32> = hex::words(bytes).collect();
    let rest = bytes.get(words.len() * LEN..).unwrap_or_default();
    for (index, (&word, pc)) in words.iter().zip((start..).step_by(LEN)).enumerate() {
        match decode(word) {
            Ok(insn) => survey.add(pc, way(&insn, pc, &words, index), || digits(word), || arm64_text(word)),
            Err(error) => survey.add_undecodable(pc, &word.to_le_bytes(), &error.to_string()),
        }
    }
    if !rest.is_empty() {
        survey.add_undecodable(start + (bytes.len() - rest.len()) as u64, rest, "less than a word");
    }
}

/// Returns a word as listings print it.
fn digits(word: u32) -> String {
    hex::plain(&word.to_be_bytes())
}

/// How a thread passes a breakpoint on the instruction at `pc`. `bytes_at` reads the code, whose neighbours decide whether the instruction
/// belongs to an exclusive sequence.
pub(super) fn way_at<'a>(pc: u64, bytes_at: impl Fn(u64) -> Option<&'a [u8]>) -> Option<Way> {
    /// The neighbours on each side that are looked at, in words.
    const NEAR: u64 = 64;
    let start = (0..=NEAR).rev().map(|words| pc.wrapping_sub(words * LEN as u64)).find(|at| bytes_at(*at).is_some())?;
    let index = usize::try_from(pc.wrapping_sub(start)).ok()? / LEN;
    let bytes = bytes_at(start)?;
    let words: Vec<u32> = hex::words(bytes.get(..(index + NEAR as usize) * LEN).unwrap_or(bytes)).collect();
    let insn = decode(*words.get(index)?).ok()?;
    Some(way(&insn, pc, &words, index))
}

fn way(insn: &Insn, pc: u64, code: &[u32], index: usize) -> Way {
    match plan_in(insn, pc, code, index) {
        Plan::Emulate(_) => Way::Emulated,
        Plan::Slot(slot) => Way::of_slot(slot.assemble(slot_address(pc)).map(|code| code.exit)),
        Plan::Refuse(reason) => Way::Refused(reason.to_string()),
    }
}

/// Decodes and classifies all code. Returns the number of instructions.
pub(super) fn decode_all(code: &[(u64, &[u8])]) -> u64 {
    let insns = code.iter().flat_map(|(_, bytes)| hex::words(bytes)).filter_map(|word| decode(word).ok());
    insns.fold(0, |count, insn| {
        black_box(insn.flow());
        count + 1
    })
}
