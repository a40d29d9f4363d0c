//! How a thread passes a breakpoint on the instruction.

use serde::Serialize;
use stepping::arm64::{Code, Plan, plan_in};

use super::{disassembly, hex, slot_address};
use crate::explain::answer::{address, exit_name};
use crate::explain::text;

/// The keys are those of other architectures.
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
    /// For the word `index` of `code`, which is at the address `at`.
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
        let words = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
        let lines = words.zip((at..).step_by(insn::arm64::LEN));
        Answer {
            plan: Some("slot"),
            boosted: Some(code.boosted()),
            exit: Some(exit_name(code.exit)),
            scratch: code.scratch.map(|scratch| format!("{} = {:#x}", scratch.register, scratch.value)),
            slot: Some(hex::plain(bytes)),
            slot_address: Some(address(at)),
            slot_text: Some(lines.map(|(word, at)| format!("{at:#x}: {word:08x}  {}", disassembly(word))).collect()),
            ..Answer::default()
        }
    }

    /// In words; nothing where there is none.
    pub(super) fn way(&self) -> String {
        text::way(self.plan.unwrap_or_default(), self.reason.as_deref(), self.exit)
    }

    /// What follows, line by line.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let scratch = self.scratch.iter().map(|scratch| ("scratch", scratch.as_str()));
        scratch.chain(self.slot_text.iter().flatten().map(|line| ("", line.as_str())))
    }
}
