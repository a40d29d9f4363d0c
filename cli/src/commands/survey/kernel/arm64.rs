use insn::arm64::{LEN, decode};
use stepping::Kprobe;
use stepping::arm64::{KprobeDeviation, KprobeRefusal, kprobe, kprobe_at};

use super::file::{Code, Function, KernelFile, holding};
use super::report::{Answer, Kprobes, kernel};
use crate::disassembly::arm64_text;
use crate::hex;

/// Adds all instructions of the file.
pub(super) fn survey(file: &KernelFile, found: &mut Kprobes) {
    let kernel = kernel(&file.tables);
    let mut add = |pc, place, word: u32, way| {
        found.add(pc, place, answer(way), || hex::plain(&word.to_be_bytes()), || arm64_text(word));
    };
    for Function { name, range } in &file.functions {
        let Some(code) = holding(&file.code, range.start) else { continue };
        let words: Vec<u32> = hex::words(code.get(..(range.end - range.start) as usize).unwrap_or(code)).collect();
        for (&word, pc) in words.iter().zip((range.start..).step_by(LEN)).filter(|(word, _)| decode(**word).is_ok()) {
            let way = kprobe_at(&words, range.start, pc, &kernel);
            add(pc, Some((name.as_str(), pc - range.start)), word, way);
        }
    }
    // Without symbols no place of an instruction is known.
    for Code { start, bytes } in file.code.iter().filter(|_| file.functions.is_empty()) {
        for (word, pc) in hex::words(bytes).zip((*start..).step_by(LEN)) {
            if let Ok(insn) = decode(word) {
                add(pc, None, word, kprobe(&insn));
            }
        }
    }
}

/// The answer for one instruction.
fn answer(way: Kprobe<KprobeRefusal, KprobeDeviation>) -> Answer {
    use KprobeRefusal::{Blacklisted, Bug, ExclusiveRegion, Fixup, Instruction, Patched, Traced};
    // Those that are refused for their places are many, and no surprise. So are instructions that trap, hint or synchronise.
    let is_listed = match way {
        Kprobe::Refused(reason) => {
            !matches!(reason, Blacklisted | Bug | ExclusiveRegion(_) | Fixup | Instruction(_) | Patched | Traced)
        }
        _ => true,
    };
    let words = |reason| match reason {
        ExclusiveRegion(_) => "behind a load-exclusive".to_owned(),
        other => other.to_string(),
    };
    Answer { kprobe: way.map(words, |deviation| deviation.to_string()), is_listed, is_boosted: false, jump: None }
}
