//! The result of a survey.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::Serialize;
use stepping::Exit;

use crate::failure::Result;
use crate::hex;
use crate::output::Output;

/// The survey of a file. The field names are the keys of the JSON form.
#[derive(Debug, Default, Serialize)]
pub(super) struct Survey {
    pub(super) file: String,
    pub(super) arch: &'static str,
    /// The source of the code ranges: `functions` (unwind information and symbols), or `sections` if the file describes no function.
    pub(super) ranges: &'static str,
    pub(super) code_bytes: u64,
    pub(super) instructions: u64,
    pub(super) emulated: u64,
    pub(super) boosted: u64,
    pub(super) trapped: u64,
    pub(super) stepped: u64,
    pub(super) refused: u64,
    /// The instructions at which a jump can be set, over ptrace in 64-bit x86 programs, and how many begin a range.
    pub(super) jumps: u64,
    pub(super) jumps_at_starts: u64,
    /// The ranges of code.
    pub(super) starts: u64,
    /// The instructions without a jump, by reason.
    pub(super) no_jumps: BTreeMap<String, u64>,
    pub(super) undecodable_bytes: u64,
    pub(super) refusals: Vec<Refused>,
    pub(super) undecodable: Vec<Undecodable>,
    pub(super) instructions_per_second: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Refused {
    pub(super) address: String,
    pub(super) hex: String,
    pub(super) text: Option<String>,
    pub(super) reason: String,
}

/// Consecutive bytes that are no instructions.
#[derive(Debug, Serialize)]
pub(super) struct Undecodable {
    pub(super) address: String,
    pub(super) size: u64,
    pub(super) hex: String,
    pub(super) error: String,
    #[serde(skip)]
    pub(super) end: u64,
}

/// How a thread passes a breakpoint on an instruction.
pub(in crate::commands) enum Way {
    Emulated,
    Boosted,
    Trapped,
    Stepped,
    Refused(String),
}

impl Way {
    /// The word for it.
    pub(in crate::commands) fn name(&self) -> &'static str {
        match self {
            Way::Emulated => "emulated",
            Way::Boosted => "boosted",
            Way::Trapped => "trapped",
            Way::Stepped => "stepped",
            Way::Refused(_) => "refused",
        }
    }

    /// Returns the way of an instruction that runs as a copy, by how a thread leaves the copy.
    pub(super) fn of_slot(exit: std::result::Result<Exit, impl Display>) -> Way {
        match exit {
            Ok(Exit::Jump) => Way::Boosted,
            Ok(Exit::Trap(_)) => Way::Trapped,
            Ok(_) => Way::Stepped,
            Err(reason) => Way::Refused(reason.to_string()),
        }
    }
}

impl Survey {
    /// Counts an instruction. `hex` and `text` are called only if the instruction is listed.
    pub(super) fn add(
        &mut self,
        pc: u64,
        way: Way,
        hex: impl FnOnce() -> String,
        text: impl FnOnce() -> Option<String>,
    ) {
        self.instructions += 1;
        match way {
            Way::Emulated => self.emulated += 1,
            Way::Boosted => self.boosted += 1,
            Way::Trapped => self.trapped += 1,
            Way::Stepped => self.stepped += 1,
            Way::Refused(reason) => {
                self.refused += 1;
                self.refusals.push(Refused { address: format!("{pc:#x}"), hex: hex(), text: text(), reason });
            }
        }
    }

    /// Counts whether an instruction can have a jump, or why not. `starts`: it begins a range.
    pub(super) fn add_jump(&mut self, starts: bool, no_jump: Option<String>) {
        self.starts += u64::from(starts);
        match no_jump {
            None => {
                self.jumps += 1;
                self.jumps_at_starts += u64::from(starts);
            }
            Some(reason) => *self.no_jumps.entry(reason).or_default() += 1,
        }
    }

    /// This survey and one of the code behind it.
    pub(super) fn followed_by(mut self, next: Survey) -> Survey {
        self.instructions += next.instructions;
        self.emulated += next.emulated;
        self.boosted += next.boosted;
        self.trapped += next.trapped;
        self.stepped += next.stepped;
        self.refused += next.refused;
        self.jumps += next.jumps;
        self.jumps_at_starts += next.jumps_at_starts;
        self.starts += next.starts;
        for (reason, count) in next.no_jumps {
            *self.no_jumps.entry(reason).or_default() += count;
        }
        self.undecodable_bytes += next.undecodable_bytes;
        self.refusals.extend(next.refusals);
        for run in next.undecodable {
            match self.undecodable.last_mut().filter(|last| last.end == run.end.wrapping_sub(run.size)) {
                Some(last) => {
                    last.end = run.end;
                    last.size += run.size;
                    last.hex.push_str(&run.hex);
                }
                None => self.undecodable.push(run),
            }
        }
        self
    }

    pub(super) fn add_undecodable(&mut self, pc: u64, bytes: &[u8], error: &str) {
        let size = bytes.len() as u64;
        self.undecodable_bytes += size;
        if let Some(last) = self.undecodable.last_mut().filter(|last| last.end == pc) {
            last.end += size;
            last.size += size;
            last.hex.push_str(&hex::plain(bytes));
            return;
        }
        let (address, hex) = (format!("{pc:#x}"), hex::plain(bytes));
        self.undecodable.push(Undecodable { address, size, hex, error: error.to_string(), end: pc.wrapping_add(size) });
    }
}

/// Writes where jumps can be set, and why not elsewhere.
fn write_jumps(survey: &Survey, out: &mut Output<'_>) -> Result<()> {
    let percent = |count: u64, of: u64| 100.0 * count as f64 / of.max(1) as f64;
    out.line("")?;
    let mut row = |name: &str, count: u64, of: u64, what: &str| {
        out.line(format_args!("  {name:<12} {count:>10}  {:>7.3} %  {what}", percent(count, of)))
    };
    row("jump", survey.jumps, survey.instructions, "a jump can be set, so that a hit needs no trap (over ptrace)")?;
    let at_starts = format!("of {} {}, at whose first instruction one can be set", survey.starts, survey.ranges);
    row("", survey.jumps_at_starts, survey.starts, &at_starts)?;
    let mut reasons: Vec<(&String, &u64)> = survey.no_jumps.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    reasons.into_iter().try_for_each(|(reason, count)| row("no jump", *count, survey.instructions, reason))
}

/// Writes the survey as text.
pub(super) fn write_text(survey: &Survey, out: &mut Output<'_>) -> Result<()> {
    let from = match survey.ranges {
        "functions" => "functions from unwind information and symbols",
        _ => "whole code sections, since the file does not describe its functions",
    };
    out.line(format_args!("{}: {}, {} bytes of code ({from})", survey.file, survey.arch, survey.code_bytes))?;
    out.line("")?;
    let percent = |count: u64| 100.0 * count as f64 / survey.instructions.max(1) as f64;
    let mut row = |name: &str, count: u64, what: &str| {
        out.line(format_args!("  {name:<12} {count:>10}  {:>7.3} %  {what}", percent(count)))
    };
    row("instructions", survey.instructions, "")?;
    row("emulated", survey.emulated, "done on the thread's registers and memory, without a copy")?;
    row("boosted", survey.boosted, "a copy that jumps back: one trap for each hit")?;
    row("trapped", survey.trapped, "a copy with a trap after it")?;
    row("stepped", survey.stepped, "a copy that is single-stepped")?;
    row("refused", survey.refused, "no breakpoint possible")?;
    for refused in &survey.refusals {
        let text = refused.text.as_deref().unwrap_or_default();
        out.line(format_args!("    {:>12}  {:<30} {text}: {}", refused.address, refused.hex, refused.reason))?;
    }
    if survey.starts > 0 {
        write_jumps(survey, out)?;
    }
    out.line("")?;
    out.line(format_args!("  {} bytes are no instructions", survey.undecodable_bytes))?;
    for run in &survey.undecodable {
        out.line(format_args!("    {:>12}  {}: {}", run.address, run.hex, run.error))?;
    }
    out.line("")?;
    let million = survey.instructions_per_second as f64 / 1e6;
    out.line(format_args!("  decoded {million:.1} million instructions per second"))
}
