//! The result of a survey.

use serde::Serialize;
use survey::{Code, Counts, Ranges, Survey};
use ubp_symbols::Image;

use super::listing::Listing;
use crate::failure::Result;
use crate::hex;
use crate::output::{Output, shown};

/// The survey of a file. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    file: String,
    arch: &'static str,
    ranges: Ranges,
    code_bytes: u64,
    #[serde(flatten)]
    counts: Counts,
    refusals: Vec<Refused>,
    undecodable: Vec<Undecodable>,
    instructions_per_second: u64,
}

#[derive(Debug, Serialize)]
struct Refused {
    address: String,
    hex: String,
    text: Option<String>,
    reason: String,
}

/// Consecutive bytes that are no instructions.
#[derive(Debug, Serialize)]
struct Undecodable {
    address: String,
    size: usize,
    hex: String,
    error: String,
}

impl Report {
    pub(super) fn of(image: &Image, code: &Code<'_>, survey: Survey, instructions_per_second: u64) -> Report {
        let mut listing = Listing::new(code.mode());
        let refused = |survey::Refused { address, bytes, reason }| {
            let (hex, text) = listing.instruction(address, &bytes);
            Refused { address: format!("{address:#x}"), hex, text, reason }
        };
        let undecodable = |survey::Undecodable { address, bytes, error }| Undecodable {
            address: format!("{address:#x}"),
            size: bytes.len(),
            hex: hex::plain(&bytes),
            error,
        };
        Report {
            file: shown(image.path()),
            arch: image.arch().name(),
            ranges: survey.ranges,
            code_bytes: survey.code_bytes,
            counts: survey.counts,
            refusals: survey.refusals.into_iter().map(refused).collect(),
            undecodable: survey.undecodable.into_iter().map(undecodable).collect(),
            instructions_per_second,
        }
    }

    /// Writes it, in the JSON form if `json` is set.
    pub(super) fn write(&self, json: bool, out: &mut Output<'_>) -> Result<()> {
        if json { out.pretty_json(self) } else { write_text(self, out) }
    }
}

/// Writes where jumps can be set, and why not elsewhere.
fn write_jumps(report: &Report, out: &mut Output<'_>) -> Result<()> {
    let (counts, of) = (&report.counts, if report.ranges == Ranges::Functions { "functions" } else { "sections" });
    let percent = |count: u64, of: u64| 100.0 * count as f64 / of.max(1) as f64;
    out.line("")?;
    let mut row = |name: &str, count: u64, of: u64, what: &str| {
        out.line(format_args!("  {name:<12} {count:>10}  {:>7.3} %  {what}", percent(count, of)))
    };
    row("jump", counts.jumps, counts.instructions, "a jump can be set, so that a hit needs no trap (over ptrace)")?;
    let at_starts = format!("of {} {}, at whose first instruction one can be set", counts.starts, of);
    row("", counts.jumps_at_starts, counts.starts, &at_starts)?;
    let mut reasons: Vec<(&String, &u64)> = counts.no_jumps.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    reasons.into_iter().try_for_each(|(reason, count)| row("no jump", *count, counts.instructions, reason))
}

/// Writes the survey as text.
fn write_text(report: &Report, out: &mut Output<'_>) -> Result<()> {
    let counts = &report.counts;
    let from = match report.ranges {
        Ranges::Functions => "functions from unwind information and symbols",
        Ranges::Sections => "whole code sections, since the file does not describe its functions",
    };
    out.line(format_args!("{}: {}, {} bytes of code ({from})", report.file, report.arch, report.code_bytes))?;
    out.line("")?;
    let percent = |count: u64| 100.0 * count as f64 / counts.instructions.max(1) as f64;
    let mut row = |name: &str, count: u64, what: &str| {
        out.line(format_args!("  {name:<12} {count:>10}  {:>7.3} %  {what}", percent(count)))
    };
    row("instructions", counts.instructions, "")?;
    row("emulated", counts.emulated, "done on the thread's registers and memory, without a copy")?;
    row("boosted", counts.boosted, "a copy that jumps back: one trap for each hit")?;
    row("trapped", counts.trapped, "a copy with a trap after it")?;
    row("stepped", counts.stepped, "a copy that is single-stepped")?;
    row("refused", counts.refused, "no breakpoint possible")?;
    for refused in &report.refusals {
        let text = refused.text.as_deref().unwrap_or_default();
        out.line(format_args!("    {:>12}  {:<30} {text}: {}", refused.address, refused.hex, refused.reason))?;
    }
    if counts.starts > 0 {
        write_jumps(report, out)?;
    }
    out.line("")?;
    out.line(format_args!("  {} bytes are no instructions", counts.undecodable_bytes))?;
    for run in &report.undecodable {
        out.line(format_args!("    {:>12}  {}: {}", run.address, run.hex, run.error))?;
    }
    out.line("")?;
    let million = report.instructions_per_second as f64 / 1e6;
    out.line(format_args!("  decoded {million:.1} million instructions per second"))
}
