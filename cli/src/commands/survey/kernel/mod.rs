//! `ntrace survey --kprobes`: what the kernel's kprobes do at each instruction of a kernel or a module.

mod arm64;
mod file;
mod x86;

use std::collections::BTreeMap;

use object::Architecture;
use serde::Serialize;
use stepping::{Kprobe, KprobeKernel};

use self::file::{KernelFile, Tables};
use crate::args::SurveyArgs;
use crate::failure::{Failure, Result};
use crate::output::{Output, shown, tell};

/// What kprobes do with the instructions of a file. The field names are the keys of the JSON form.
#[derive(Debug, Default, Serialize)]
struct Kprobes {
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

/// What is told of one instruction.
struct Answer {
    kprobe: Kprobe<String, String>,
    /// Whether a refusal is listed.
    is_listed: bool,
    is_boosted: bool,
    /// Whether a jump takes the place of the trap, or why not. `None`: there is no trap, or nobody looked.
    jump: Option<std::result::Result<(), &'static str>>,
}

/// Surveys the file and prints what is found.
pub(super) fn run(args: &SurveyArgs, out: &mut Output<'_>) -> Result<()> {
    let fail = |what: String| Failure::own(format!("{}: {what}", shown(&args.file)));
    let file = KernelFile::read(&args.file).map_err(fail)?;
    if file.code.is_empty() {
        return Err(fail("the file has no code".into()));
    }
    let note = |what: &str| tell(format_args!("{}: {what}", shown(&args.file)));
    if file.functions.is_empty() {
        note("no symbols: instructions are judged alone, not by their places");
    } else if !file.missing.is_empty() {
        note(&format!("no table {}: what they name is judged as other code is", file.missing.join(", ")));
    }
    let mut found = Kprobes { file: shown(&args.file), ..Kprobes::default() };
    match file.arch {
        Architecture::X86_64 => {
            found.arch = "x86_64";
            x86::survey(&file, &mut found);
        }
        Architecture::Aarch64 => {
            found.arch = "arm64";
            arm64::survey(&file, &mut found);
        }
        other => return Err(fail(format!("{other:?}; kernels of x86-64 and arm64 are supported"))),
    }
    if args.json { out.pretty_json(&found) } else { write_text(&found, out) }
}

/// What the tables tell, for a kernel such as those of distributions.
fn kernel(tables: &Tables) -> KprobeKernel<'_> {
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
    /// Counts an instruction. `hex` and `text` are called only if it is listed.
    fn add(
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
fn write_text(found: &Kprobes, out: &mut Output<'_>) -> Result<()> {
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
