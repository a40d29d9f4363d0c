//! `ntrace survey`.

mod arm64;
mod report;
mod sweep;
mod x86;

use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use self::report::{Survey, write_text};
use crate::args::SurveyArgs;
use crate::code::Mode;
use crate::cpu;
use crate::failure::{Failure, Result};
use crate::output::{Output, shown, tell};
use crate::symbols::{Image, text_sections};

/// Runs the command.
pub(crate) fn run(args: &SurveyArgs) -> Result<ExitCode> {
    let image = Image::open(&args.file).map_err(|error| Failure::own(format!("{}: {error}", shown(&args.file))))?;
    let survey = survey(&image, image.arch().mode(args.vendor.map_or_else(cpu::vendor, Into::into)));
    for what in image.take_refused() {
        tell(format_args!("{}: {what}", shown(&args.file)));
    }
    if survey.code_bytes == 0 {
        return Err(Failure::own(format!("{}: the file has no code", shown(&args.file))));
    }
    let mut out = Output::stdout();
    if args.json { out.pretty_json(&survey) } else { write_text(&survey, &mut out) }?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Surveys an image, and writes the text and the JSON form.
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
