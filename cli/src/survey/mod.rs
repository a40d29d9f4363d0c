//! `ntrace survey`.

mod arm64;
mod sweep;
mod x86;

use std::fmt::Display;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;
use stepping::{Code, Exit};

use crate::args::SurveyArgs;
use crate::code::Mode;
use crate::cpu;
use crate::explain::hex;
use crate::failure::{Failure, Result};
use crate::output::{Output, shown, tell};
use crate::symbols::{Image, text_sections};

/// What was found; the names are the keys of the JSON form.
#[derive(Debug, Default, Serialize)]
struct Survey {
    file: String,
    arch: &'static str,
    /// Where the ranges come from: `functions` (unwind information and symbols), or `sections` where the file tells of none.
    ranges: &'static str,
    code_bytes: u64,
    instructions: u64,
    emulated: u64,
    boosted: u64,
    trapped: u64,
    stepped: u64,
    refused: u64,
    undecodable_bytes: u64,
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

/// Bytes that follow each other and are no instructions.
#[derive(Debug, Serialize)]
struct Undecodable {
    address: String,
    size: u64,
    hex: String,
    error: String,
    #[serde(skip)]
    end: u64,
}

/// What one instruction adds to a survey.
enum Way {
    Emulated,
    Boosted,
    Trapped,
    Stepped,
    Refused(String),
}

impl Way {
    /// For an instruction that runs as a copy, once that is assembled.
    fn of_slot<R>(assembled: std::result::Result<Code<R>, impl Display>) -> Way {
        match assembled.map(|code| code.exit) {
            Ok(Exit::Jump) => Way::Boosted,
            Ok(Exit::Trap(_)) => Way::Trapped,
            Ok(_) => Way::Stepped,
            Err(reason) => Way::Refused(reason.to_string()),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &SurveyArgs) -> Result<ExitCode> {
    let image = Image::open(&args.file).map_err(|error| Failure::own(format!("{}: {error}", shown(&args.file))))?;
    let survey = survey(&image, image.arch().mode(cpu::vendor(args.vendor)));
    for what in image.take_refused() {
        tell(format_args!("{}: {what}", shown(&args.file)));
    }
    if survey.code_bytes == 0 {
        return Err(Failure::own(format!("{}: no code in it", shown(&args.file))));
    }
    let mut out = Output::stdout();
    if args.json { out.pretty_json(&survey) } else { write_text(&survey, &mut out) }?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Surveys an image and writes both forms.
pub(crate) fn write(image: &Image, mode: Mode, out: &mut Output<'_>) -> Result<()> {
    let survey = survey(image, mode);
    write_text(&survey, out)?;
    out.pretty_json(&survey)
}

fn survey(image: &Image, mode: Mode) -> Survey {
    let functions = image.code();
    let sections = if functions.is_empty() { text_sections(image) } else { Vec::new() };
    let mut survey = Survey {
        file: shown(image.path()),
        arch: image.arch().name(),
        ranges: if functions.is_empty() { "sections" } else { "functions" },
        ..Survey::default()
    };
    let ranges = if functions.is_empty() { sections.as_slice() } else { functions };
    let code: Vec<(u64, &[u8])> = ranges.iter().filter_map(|range| Some((range.start, bytes(image, range)?))).collect();
    survey.code_bytes = code.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    match mode {
        Mode::X86(mode) => x86::look(&code, mode, &mut survey),
        Mode::Arm64 => arm64::look(&code, &mut survey),
    }
    let start = Instant::now();
    let decoded = match mode {
        Mode::X86(mode) => x86::decode_all(&code, mode),
        Mode::Arm64 => arm64::decode_all(&code),
    };
    survey.instructions_per_second = (decoded as f64 / start.elapsed().as_secs_f64().max(1e-9)) as u64;
    survey
}

fn bytes<'a>(image: &'a Image, range: &Range<u64>) -> Option<&'a [u8]> {
    let rest = image.bytes_at(range.start)?;
    let size = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    rest.get(..size.min(rest.len()))
}

impl Survey {
    /// Counts an instruction; `hex` and `text` are asked for where it is listed.
    fn add(&mut self, pc: u64, way: Way, hex: impl FnOnce() -> String, text: impl FnOnce() -> Option<String>) {
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

    fn add_undecodable(&mut self, pc: u64, bytes: &[u8], error: &str) {
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

fn write_text(survey: &Survey, out: &mut Output<'_>) -> Result<()> {
    let from = match survey.ranges {
        "functions" => "functions by unwind information and symbols",
        _ => "whole code sections; the file does not tell where functions lie",
    };
    out.line(format_args!("{}: {}, {} bytes of code ({from})", survey.file, survey.arch, survey.code_bytes))?;
    out.line("")?;
    let percent = |count: u64| 100.0 * count as f64 / survey.instructions.max(1) as f64;
    let mut row = |name: &str, count: u64, what: &str| {
        out.line(format_args!("  {name:<12} {count:>10}  {:>7.3} %  {what}", percent(count)))
    };
    row("instructions", survey.instructions, "")?;
    row("emulated", survey.emulated, "done on the thread's registers and memory, no copy")?;
    row("boosted", survey.boosted, "a copy that jumps back: one trap a hit")?;
    row("trapped", survey.trapped, "a copy with a trap behind it")?;
    row("stepped", survey.stepped, "a copy that is single-stepped")?;
    row("refused", survey.refused, "no breakpoint possible")?;
    for refused in &survey.refusals {
        let text = refused.text.as_deref().unwrap_or_default();
        out.line(format_args!("    {:>12}  {:<30} {text}: {}", refused.address, refused.hex, refused.reason))?;
    }
    out.line("")?;
    out.line(format_args!("  {} bytes are no instructions", survey.undecodable_bytes))?;
    for run in &survey.undecodable {
        out.line(format_args!("    {:>12}  {}: {}", run.address, run.hex, run.error))?;
    }
    out.line("")?;
    let million = survey.instructions_per_second as f64 / 1e6;
    out.line(format_args!("  decoded {million:.1} million instructions a second"))
}
