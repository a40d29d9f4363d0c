//! `ntrace survey`.

use std::hint::black_box;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use insn::x86::{Insn, Mode, decode};
use serde::Serialize;
use stepping::x86::{Exit, Plan, plan};

use crate::args::SurveyArgs;
use crate::cpu;
use crate::disassembly::Disassembler;
use crate::explain::{hex, slot_address};
use crate::failure::{Failure, Result};
use crate::sweep::{Found, sweep};
use crate::symbols::{Arch, Image, text_sections};

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

/// Runs the command.
pub(crate) fn run(args: &SurveyArgs) -> Result<ExitCode> {
    let image = Image::open(&args.file).map_err(|error| Failure::own(format!("{}: {error}", args.file.display())))?;
    let mode = Mode::new(image.arch().bits(), cpu::vendor(args.vendor));
    let survey = survey(&image, mode);
    if survey.code_bytes == 0 {
        return Err(Failure::own(format!("{}: no code in it", args.file.display())));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if args.json { write_json(&survey, &mut out) } else { write_text(&survey, &mut out) };
    written.and_then(|()| out.flush()).map_err(|error| Failure::own(format!("standard output: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Surveys an image and writes both forms.
pub(crate) fn write(image: &Image, mode: Mode, out: &mut impl Write) -> io::Result<()> {
    let survey = survey(image, mode);
    write_text(&survey, out)?;
    write_json(&survey, out)
}

fn survey(image: &Image, mode: Mode) -> Survey {
    let functions = image.code();
    let sections = if functions.is_empty() { text_sections(image) } else { Vec::new() };
    let mut survey = Survey {
        file: image.path().display().to_string(),
        arch: if image.arch() == Arch::I386 { "i386" } else { "x86_64" },
        ranges: if functions.is_empty() { "sections" } else { "functions" },
        ..Survey::default()
    };
    let ranges = if functions.is_empty() { sections.as_slice() } else { functions };
    let code: Vec<(u64, &[u8])> = ranges.iter().filter_map(|range| Some((range.start, bytes(image, range)?))).collect();
    let mut disassembler = Disassembler::new();
    for &(start, bytes) in &code {
        survey.code_bytes += bytes.len() as u64;
        for (pc, found) in sweep(bytes, start, mode) {
            match found {
                Found::Insn(insn) => survey.add(&insn, pc, &mut disassembler),
                Found::Undecodable(error) => {
                    survey.add_undecodable(pc, bytes[(pc - start) as usize], &error.to_string())
                }
            }
        }
    }
    survey.instructions_per_second = speed(&code, mode);
    survey
}

fn bytes<'a>(image: &'a Image, range: &Range<u64>) -> Option<&'a [u8]> {
    let rest = image.bytes_at(range.start)?;
    let size = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    rest.get(..size.min(rest.len()))
}

/// Instructions decoded and classified in a second, over all of the code.
fn speed(code: &[(u64, &[u8])], mode: Mode) -> u64 {
    let start = Instant::now();
    let mut count = 0u64;
    for (_, bytes) in code {
        let mut rest = *bytes;
        while !rest.is_empty() {
            let len = match decode(rest, mode) {
                Ok(insn) => {
                    count += 1;
                    black_box(insn.flow());
                    insn.len()
                }
                Err(_) => 1,
            };
            rest = rest.get(len..).unwrap_or_default();
        }
    }
    (count as f64 / start.elapsed().as_secs_f64().max(1e-9)) as u64
}

impl Survey {
    fn add(&mut self, insn: &Insn, pc: u64, disassembler: &mut Disassembler) {
        self.instructions += 1;
        let assembled = match plan(insn, pc) {
            Plan::Emulate(_) => {
                self.emulated += 1;
                return;
            }
            Plan::Slot(slot) => slot.assemble(slot_address(pc)),
            Plan::Refuse(reason) => Err(reason),
            _ => return,
        };
        match assembled {
            Ok(code) => match code.exit {
                Exit::Jump => self.boosted += 1,
                Exit::Trap(_) => self.trapped += 1,
                _ => self.stepped += 1,
            },
            Err(reason) => {
                self.refused += 1;
                self.refusals.push(Refused {
                    address: format!("{pc:#x}"),
                    hex: hex::plain(insn.bytes()),
                    text: disassembler.text(insn.bytes(), pc, insn.mode()),
                    reason: reason.to_string(),
                });
            }
        }
    }

    fn add_undecodable(&mut self, pc: u64, byte: u8, error: &str) {
        self.undecodable_bytes += 1;
        if let Some(last) = self.undecodable.last_mut().filter(|last| last.end == pc) {
            last.end += 1;
            last.size += 1;
            last.hex.push_str(&hex::plain(&[byte]));
            return;
        }
        let (address, hex) = (format!("{pc:#x}"), hex::plain(&[byte]));
        self.undecodable.push(Undecodable { address, size: 1, hex, error: error.to_string(), end: pc + 1 });
    }
}

fn write_json(survey: &Survey, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, survey)?;
    out.write_all(b"\n")
}

fn write_text(survey: &Survey, out: &mut impl Write) -> io::Result<()> {
    let from = match survey.ranges {
        "functions" => "functions by unwind information and symbols",
        _ => "whole code sections; the file does not tell where functions lie",
    };
    writeln!(out, "{}: {}, {} bytes of code ({from})\n", survey.file, survey.arch, survey.code_bytes)?;
    let percent = |count: u64| 100.0 * count as f64 / survey.instructions.max(1) as f64;
    let mut row = |name: &str, count: u64, what: &str| {
        writeln!(out, "  {name:<12} {count:>10}  {:>7.3} %  {what}", percent(count))
    };
    row("instructions", survey.instructions, "")?;
    row("emulated", survey.emulated, "done on the thread's registers and memory, no copy")?;
    row("boosted", survey.boosted, "a copy that jumps back: one trap a hit")?;
    row("trapped", survey.trapped, "a copy with a trap behind it")?;
    row("stepped", survey.stepped, "a copy that is single-stepped")?;
    row("refused", survey.refused, "no breakpoint possible")?;
    for refused in &survey.refusals {
        let text = refused.text.as_deref().unwrap_or_default();
        writeln!(out, "    {:>12}  {:<30} {text}: {}", refused.address, refused.hex, refused.reason)?;
    }
    writeln!(out, "\n  {} bytes are no instructions", survey.undecodable_bytes)?;
    for run in &survey.undecodable {
        writeln!(out, "    {:>12}  {}: {}", run.address, run.hex, run.error)?;
    }
    writeln!(out, "\n  decoded {:.1} million instructions a second", survey.instructions_per_second as f64 / 1e6)
}
