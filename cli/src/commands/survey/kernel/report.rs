//! What kprobes do with the instructions of a file.

use std::collections::BTreeMap;

use serde::Serialize;
use stepping::{Kprobe, KprobeKernel};

use super::file::Tables;
use crate::failure::Result;
use crate::output::Output;

/// What kprobes do with the instructions of a file. The field names are the keys of the JSON form.
#[derive(Debug, Default, Serialize)]
pub(super) struct Kprobes {
    file: String,
    arch: &'static str,
    instructions: u64,
    traced: u64,
    emulated: u64,
    stepped: u64,
    refused: u64,
    wrong: u64,
    /// The instructions whose copy jumps back in a kernel that is not preemptible.
    boosted: u64,
    /// The instructions where a jump takes the place of the trap.
    optimized: u64,
    /// The numbers of instructions by reason.
    refusals: BTreeMap<String, u64>,
    deviations: BTreeMap<String, u64>,
    not_optimized: BTreeMap<String, u64>,
    /// The instructions where a kprobe goes wrong, and those that are refused for what they are.
    listed: Vec<Listed>,
}

#[derive(Debug, Serialize)]
struct Listed {
    address: String,
    /// A symbol and the distance from it in bytes, as the kernel takes them.
    place: Option<String>,
    hex: String,
    text: Option<String>,
    /// `refused` or `wrong`.
    kprobe: &'static str,
    reason: String,
}

/// The answer for one instruction.
pub(super) struct Answer {
    pub(super) kprobe: Kprobe<String, String>,
    /// Whether a refusal is listed.
    pub(super) is_listed: bool,
    pub(super) is_boosted: bool,
    /// Whether a jump takes the place of the trap, or why not. `None`: there is no trap, or nobody looked.
    pub(super) jump: Option<std::result::Result<(), &'static str>>,
}

/// What the tables tell, for a kernel such as those of distributions.
pub(super) fn kernel(tables: &Tables) -> KprobeKernel<'_> {
    KprobeKernel {
        preemption: true,
        jump_tables: false,
        blacklist: &tables.blacklist,
        patched: &tables.patched,
        ftrace: &tables.ftrace,
        bugs: &tables.bugs,
        fixups: &tables.fixups,
    }
}

impl Kprobes {
    /// Of a file in which nothing is counted yet.
    pub(super) fn of(file: String, arch: &'static str) -> Kprobes {
        Kprobes { file, arch, ..Kprobes::default() }
    }

    /// Counts an instruction. `hex` and `text` are called only if it is listed.
    pub(super) fn add(
        &mut self,
        pc: u64,
        place: Option<(&str, u64)>,
        answer: Answer,
        hex: impl FnOnce() -> String,
        text: impl FnOnce() -> Option<String>,
    ) {
        self.instructions += 1;
        self.boosted += u64::from(answer.is_boosted);
        match answer.jump {
            Some(Ok(())) => self.optimized += 1,
            Some(Err(reason)) => *self.not_optimized.entry(reason.to_owned()).or_default() += 1,
            None => {}
        }
        let (kprobe, reason) = match answer.kprobe {
            Kprobe::Traced => return self.traced += 1,
            Kprobe::Emulated => return self.emulated += 1,
            Kprobe::Boosted | Kprobe::Stepped => return self.stepped += 1,
            Kprobe::Refused(reason) => ("refused", reason),
            Kprobe::Wrong(reason) => ("wrong", reason),
        };
        let (count, reasons) = match kprobe {
            "refused" => (&mut self.refused, &mut self.refusals),
            _ => (&mut self.wrong, &mut self.deviations),
        };
        *count += 1;
        *reasons.entry(reason.clone()).or_default() += 1;
        if answer.is_listed {
            let place = place.map(|(name, offset)| format!("{name}+{offset:#x}"));
            let (address, hex, text) = (format!("{pc:#x}"), hex(), text());
            self.listed.push(Listed { address, place, hex, text, kprobe, reason });
        }
    }
}

/// Writes the result as text.
pub(super) fn write_text(found: &Kprobes, out: &mut Output<'_>) -> Result<()> {
    out.line(format_args!("{}: {}, kprobes of Linux", found.file, found.arch))?;
    out.line("")?;
    let percent = |count: u64| 100.0 * count as f64 / found.instructions.max(1) as f64;
    let mut row = |name: &str, count: u64, what: &str| {
        out.line(format_args!("  {name:<12} {count:>10}  {:>7.3} %  {what}", percent(count)).to_string().trim_end())
    };
    row("instructions", found.instructions, "")?;
    row("traced", found.traced, "called by ftrace: no trap")?;
    row("emulated", found.emulated, "done on the registers: one trap")?;
    row("stepped", found.stepped, "a copy with a trap behind it: two traps")?;
    row("refused", found.refused, "the kernel sets no kprobe")?;
    found.refusals.iter().try_for_each(|(reason, count)| row("", *count, reason))?;
    row("wrong", found.wrong, "the kernel goes wrong at a hit")?;
    found.deviations.iter().try_for_each(|(reason, count)| row("", *count, reason))?;
    if !found.not_optimized.is_empty() {
        row("optimised", found.optimized, "of these, a jump takes the place of the traps")?;
        found.not_optimized.iter().try_for_each(|(reason, count)| row("", *count, reason))?;
    }
    if found.boosted > 0 {
        row("boosted", found.boosted, "a copy that jumps back, in a kernel without CONFIG_PREEMPTION")?;
    }
    for name in ["wrong", "refused"] {
        let listed: Vec<&Listed> = found.listed.iter().filter(|listed| listed.kprobe == name).collect();
        if !listed.is_empty() {
            out.line("")?;
        }
        for Listed { address, place, hex, text, reason, .. } in listed {
            let (place, text) = (place.as_deref().unwrap_or(address), text.as_deref().unwrap_or_default());
            out.line(format_args!("  {name:<7} {place}  {hex}  {text}: {reason}"))?;
        }
    }
    Ok(())
}
