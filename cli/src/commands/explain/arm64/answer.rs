//! Everything that `explain` prints about an A64 instruction.

use insn::Target;
use insn::arm64::{Insn, Nzcv, RegSet, decode};
use serde::Serialize;

use super::operand::{name, operand};
use super::plan;
use crate::disassembly::arm64_text;

/// The explanation of one instruction. The field names are the keys of the JSON form.
#[derive(Debug, Default, Serialize)]
pub(super) struct Answer {
    pub(super) hex: String,
    pub(super) valid: bool,
    pub(super) error: Option<String>,
    pub(super) length: Option<usize>,
    pub(super) text: Option<String>,
    pub(super) flow: Option<String>,
    pub(super) target: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) unpredictable: Option<bool>,
    pub(super) landing_pad: Option<String>,
    pub(super) exclusive: Option<String>,
    pub(super) memory: Option<Vec<String>>,
    pub(super) reads: Option<Vec<String>>,
    pub(super) writes: Option<Vec<String>>,
    pub(super) flags_read: Option<Vec<&'static str>>,
    pub(super) flags_written: Option<Vec<&'static str>>,
    #[serde(flatten)]
    pub(super) plan: plan::Answer,
    /// The address, for the text form.
    #[serde(skip)]
    pub(super) at: u64,
}

fn registers(set: RegSet) -> Vec<String> {
    set.iter().map(|register| register.to_string()).collect()
}

fn flags(set: Nzcv) -> Vec<&'static str> {
    let all = [(Nzcv::N, "n"), (Nzcv::Z, "z"), (Nzcv::C, "c"), (Nzcv::V, "v")];
    all.into_iter().filter(|(flag, _)| set.contains(*flag)).map(|(_, name)| name).collect()
}

impl Answer {
    /// Returns the answer for a text that contains no instruction.
    pub(super) fn invalid(text: &str, error: &str) -> Answer {
        Answer { hex: text.into(), error: Some(error.into()), ..Answer::default() }
    }

    /// Returns the answer for the word `index` of `code`. The word is at the address `at`.
    pub(super) fn of(code: &[u32], index: usize, at: u64) -> Answer {
        let word = code.get(index).copied().unwrap_or_default();
        let hex = format!("{word:08x}");
        match decode(word) {
            Ok(insn) => Answer { hex, plan: plan::Answer::of(code, index, at), ..Answer::of_insn(&insn, at) },
            Err(error) => Answer { hex, at, error: Some(error.to_string()), ..Answer::default() },
        }
    }

    fn of_insn(insn: &Insn, at: u64) -> Answer {
        let target = match insn.target() {
            Target::Register(register) => Some(register.to_string()),
            _ => insn.target_address(at).map(|address| format!("{address:#x}")),
        };
        let effects = insn.effects();
        let memory: Vec<String> = effects.memories.iter().flatten().map(|memory| operand(memory, at)).collect();
        Answer {
            hex: String::new(),
            valid: true,
            error: None,
            length: Some(insn::arm64::LEN),
            text: arm64_text(insn.word()),
            flow: Some(name(insn.flow())),
            target,
            kind: Some(name(insn.kind())),
            unpredictable: Some(insn.is_unpredictable()),
            landing_pad: insn.landing_pad().map(name),
            exclusive: insn.exclusive().map(name),
            memory: Some(memory),
            reads: Some(registers(effects.reads)),
            writes: Some(registers(effects.writes)),
            flags_read: Some(flags(effects.flags_read)),
            flags_written: Some(flags(effects.flags_written)),
            plan: plan::Answer::default(),
            at,
        }
    }
}
