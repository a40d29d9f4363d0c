//! How a thread passes a breakpoint on an A64 instruction.

use serde::Serialize;
use stepping::arm64::{Code, Plan, plan_in};
use survey::slot_address;

use crate::commands::explain::answer::{address, exit_name};
use crate::commands::explain::text;
use crate::disassembly::{arm64_text, word_directive};
use crate::hex;

/// The plan. The field names are the keys of the JSON form, and equal those of other architectures.
#[derive(Debug, Default, Serialize)]
pub(super) struct Answer {
    plan: Option<&'static str>,
    boosted: Option<bool>,
    exit: Option<&'static str>,
    scratch: Option<String>,
    reason: Option<String>,
    slot: Option<String>,
    slot_address: Option<String>,
    slot_text: Option<Vec<String>>,
}

impl Answer {
    /// Returns the plan for the word `index` of `code`. The word is at the address `at`.
    pub(super) fn of(code: &[u32], index: usize, at: u64) -> Answer {
        let Some(Ok(insn)) = code.get(index).map(|word| insn::arm64::decode(*word)) else { return Answer::default() };
        let slot = match plan_in(&insn, at, code, index) {
            Plan::Emulate(_) => return Answer { plan: Some("emulate"), ..Answer::default() },
            Plan::Slot(slot) => slot.assemble(slot_address(at)),
            Plan::Refuse(reason) => Err(reason),
        };
        match slot {
            Ok(code) => Answer::of_slot(&code, slot_address(at)),
            Err(reason) => Answer { plan: Some("refuse"), reason: Some(reason.to_string()), ..Answer::default() },
        }
    }

    fn of_slot(code: &Code, at: u64) -> Answer {
        let bytes = code.bytes.get(..usize::from(code.len)).unwrap_or(&code.bytes);
        let text = |word| arm64_text(word).unwrap_or_else(|| word_directive(&format!("{word:08x}")));
        let lines = hex::words(bytes).zip((at..).step_by(insn::arm64::LEN));
        Answer {
            plan: Some("slot"),
            boosted: Some(code.boosted()),
            exit: Some(exit_name(code.exit)),
            scratch: code.scratch.map(|scratch| format!("{} = {:#x}", scratch.register, scratch.value)),
            slot: Some(hex::plain(bytes)),
            slot_address: Some(address(at)),
            slot_text: Some(lines.map(|(word, at)| format!("{at:#x}: {word:08x}  {}", text(word))).collect()),
            ..Answer::default()
        }
    }

    /// Returns the plan in words. The text is empty for bytes that are no instruction.
    pub(super) fn in_words(&self) -> String {
        text::way(self.plan.unwrap_or_default(), self.reason.as_deref(), self.exit)
    }

    /// Returns the further rows of the text form: name and value.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let scratch = self.scratch.iter().map(|scratch| ("scratch", scratch.as_str()));
        scratch.chain(self.slot_text.iter().flatten().map(|line| ("", line.as_str())))
    }
}
