//! `ntrace survey --uprobes`: which instructions the kernel's uprobes refuse, and at which they change what a program does.

use std::collections::BTreeMap;

use serde::Serialize;
use survey::{Code, Uprobes};
use ubp_symbols::Image;

use super::listing::Listing;
use crate::failure::Result;
use crate::output::{Output, shown};

/// What uprobes do with the instructions of a file. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Report {
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

impl Report {
    pub(super) fn of(image: &Image, code: &Code<'_>, found: Uprobes) -> Report {
        let mut listing = Listing::new(code.mode());
        let listed = |survey::Uprobe { address, bytes, is_refused, reason }| {
            let (hex, text) = listing.instruction(address, &bytes);
            let uprobe = if is_refused { "refused" } else { "wrong" };
            Listed { address: format!("{address:#x}"), hex, text, uprobe, reason }
        };
        Report {
            file: shown(image.path()),
            arch: image.arch().name(),
            instructions: found.instructions,
            passed: found.passed,
            refused: found.refused.values().sum(),
            wrong: found.wrong.values().sum(),
            listed: found.listed.into_iter().map(listed).collect(),
            refusals: found.refused,
            deviations: found.wrong,
        }
    }

    /// Writes it, in the JSON form if `json` is set.
    pub(super) fn write(&self, json: bool, out: &mut Output<'_>) -> Result<()> {
        if json { out.pretty_json(self) } else { write_text(self, out) }
    }
}

/// Writes the result as text.
fn write_text(found: &Report, out: &mut Output<'_>) -> Result<()> {
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
