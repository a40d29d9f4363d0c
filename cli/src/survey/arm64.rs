use std::hint::black_box;

use insn::arm64::{Insn, LEN, decode};
use stepping::arm64::{Plan, plan_in};

use super::{Survey, Way};
use crate::disassembly::arm64_text;
use crate::explain::{hex, slot_address};

/// Counts all instructions of `code`, pieces with their addresses.
pub(super) fn look(code: &[(u64, &[u8])], survey: &mut Survey) {
    let mut pieces = code.iter().peekable();
    while let Some(&(start, bytes)) = pieces.next() {
        // Pieces that touch are one, in which a sequence of instructions may go on.
        let mut bytes = bytes.to_vec();
        while let Some((_, more)) = pieces.next_if(|(next, _)| *next == start + bytes.len() as u64 && next % 4 == 0) {
            bytes.extend_from_slice(more);
        }
        look_at(start, &bytes, survey);
    }
}

fn look_at(start: u64, bytes: &[u8], survey: &mut Survey) {
    let (words, rest) = bytes.as_chunks::<LEN>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    for (index, (&word, pc)) in words.iter().zip((start..).step_by(LEN)).enumerate() {
        match decode(word) {
            Ok(insn) => survey.add(pc, way(&insn, pc, &words, index), || hex(word), || arm64_text(word)),
            Err(error) => survey.add_undecodable(pc, &word.to_le_bytes(), &error.to_string()),
        }
    }
    if !rest.is_empty() {
        survey.add_undecodable(start + (bytes.len() - rest.len()) as u64, rest, "less than a word");
    }
}

/// A word as listings have it.
fn hex(word: u32) -> String {
    hex::plain(&word.to_be_bytes())
}

fn way(insn: &Insn, pc: u64, code: &[u32], index: usize) -> Way {
    match plan_in(insn, pc, code, index) {
        Plan::Emulate(_) => Way::Emulated,
        Plan::Slot(slot) => Way::of_slot(slot.assemble(slot_address(pc))),
        Plan::Refuse(reason) => Way::Refused(reason.to_string()),
    }
}

/// Decodes and classifies all of it; returns how many instructions there are.
pub(super) fn decode_all(code: &[(u64, &[u8])]) -> u64 {
    let words = code.iter().flat_map(|(_, bytes)| bytes.as_chunks().0);
    let insns = words.filter_map(|word| decode(u32::from_le_bytes(*word)).ok());
    insns.fold(0, |count, insn| {
        black_box(insn.flow());
        count + 1
    })
}
