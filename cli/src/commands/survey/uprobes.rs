//! `ntrace survey --uprobes`: which instructions the kernel's uprobes refuse, and at which they change what a program does.

use std::collections::BTreeMap;

use insn::arm64;
use serde::Serialize;
use stepping::Uprobe;
use ubp_symbols::Image;
use ubp_symbols::code::Mode;

use super::sweep::{Found, sweep};
use crate::disassembly::{Disassembler, arm64_text};
use crate::failure::Result;
use crate::hex;
use crate::output::{Output, shown};

/// What uprobes do with the instructions of a file. The field names are the keys of the JSON form.
#[derive(Debug, Default, Serialize)]
pub(super) struct Uprobes {
    file: String,
    arch: &'static str,
    instructions: u64,
    passed: u64,
    refused: u64,
    wrong: u64,
    /// The numbers of instructions by reason.
    refusals: BTreeMap<String, u64>,
    deviations: BTreeMap<String, u64>,
    /// The instructions that are refused or run wrong.
    listed: Vec<Listed>,
}

#[derive(Debug, Serialize)]
struct Listed {
    address: String,
    hex: String,
    text: Option<String>,
    /// `refused` or `wrong`.
    uprobe: &'static str,
    reason: String,
}

impl Uprobes {
    /// What uprobes do with all instructions of `code`, pieces with their addresses.
    pub(super) fn of(image: &Image, code: &[(u64, &[u8])], mode: Mode) -> Uprobes {
        let mut found = Uprobes { file: shown(image.path()), arch: image.arch().name(), ..Uprobes::default() };
        match mode {
            Mode::X86(mode) => {
                let mut disassembler = Disassembler::new();
                for (pc, what) in code.iter().flat_map(|(start, bytes)| sweep(bytes, *start, mode)) {
                    let Found::Insn(insn) = what else { continue };
                    let text = || disassembler.text(insn.bytes(), pc, mode);
                    found.add(pc, stepping::x86::uprobe(&insn), || hex::plain(insn.bytes()), text);
                }
            }
            Mode::Arm64 => {
                for (start, bytes) in code {
                    for (word, pc) in hex::words(bytes).zip((*start..).step_by(arm64::LEN)) {
                        let Ok(insn) = arm64::decode(word) else { continue };
                        let hex = || hex::plain(&word.to_be_bytes());
                        found.add(pc, stepping::arm64::uprobe(&insn), hex, || arm64_text(word));
                    }
                }
            }
        }
        found
    }

    fn add<R: ToString, D: ToString>(
        &mut self,
        pc: u64,
        uprobe: Uprobe<R, D>,
        hex: impl FnOnce() -> String,
        text: impl FnOnce() -> Option<String>,
    ) {
        self.instructions += 1;
        let (name, reason) = match uprobe {
            Uprobe::Passed => return self.passed += 1,
            Uprobe::Refused(reason) => ("refused", reason.to_string()),
            Uprobe::Wrong(reason) => ("wrong", reason.to_string()),
        };
        let (count, reasons) = match name {
            "refused" => (&mut self.refused, &mut self.refusals),
            _ => (&mut self.wrong, &mut self.deviations),
        };
        *count += 1;
        *reasons.entry(reason.clone()).or_default() += 1;
        self.listed.push(Listed { address: format!("{pc:#x}"), hex: hex(), text: text(), uprobe: name, reason });
    }
}

/// Writes the result as text.
pub(super) fn write_text(found: &Uprobes, out: &mut Output<'_>) -> Result<()> {
    out.line(format_args!("{}: {}, uprobes of Linux", found.file, found.arch))?;
    out.line("")?;
    let percent = |count: u64| 100.0 * count as f64 / found.instructions.max(1) as f64;
    let mut row = |name: &str, count: u64, what: &str| {
        out.line(format_args!("  {name:<12} {count:>10}  {:>7.3} %  {what}", percent(count)).to_string().trim_end())
    };
    row("instructions", found.instructions, "")?;
    row("passed", found.passed, "the program does what it does without the uprobe")?;
    row("refused", found.refused, "the kernel sets no uprobe")?;
    found.refusals.iter().try_for_each(|(reason, count)| row("", *count, reason))?;
    row("wrong", found.wrong, "the program does something else, or hits are miscounted")?;
    found.deviations.iter().try_for_each(|(reason, count)| row("", *count, reason))?;
    for name in ["wrong", "refused"] {
        let listed: Vec<&Listed> = found.listed.iter().filter(|listed| listed.uprobe == name).collect();
        if !listed.is_empty() {
            out.line("")?;
        }
        for Listed { address, hex, text, reason, .. } in listed {
            let text = text.as_deref().unwrap_or_default();
            out.line(format_args!("  {name:<7} {address:>12}  {hex:<30} {text}: {reason}"))?;
        }
    }
    Ok(())
}
