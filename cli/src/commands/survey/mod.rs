//! `ntrace survey`.

mod arm64;
mod parts;
mod report;
mod sweep;
mod uprobes;
mod x86;

use std::borrow::Cow;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use nix::unistd::getpgrp;
use ubp_symbols::Image;
use ubp_symbols::code::{self, Mode};

pub(super) use self::report::Way;
use self::report::{Survey, write_text};
use self::uprobes::Uprobes;
use crate::args::SurveyArgs;
use crate::failure::{Failure, Result};
use crate::output::{Live, Output, shown, tell};

/// Runs the command.
pub(crate) fn run(args: &SurveyArgs) -> Result<ExitCode> {
    let image = Image::open(&args.file).map_err(|error| Failure::own(format!("{}: {error}", shown(&args.file))))?;
    let mode = image.arch().mode(args.vendor.map_or_else(code::vendor, Into::into));
    let mut out = Output::stdout();
    let (source, ranges) = ranges(&image);
    let code = pieces(&image, &ranges);
    for what in image.take_refused() {
        tell(format_args!("{}: {what}", shown(&args.file)));
    }
    if code.iter().all(|(_, bytes)| bytes.is_empty()) {
        return Err(Failure::own(format!("{}: the file has no code", shown(&args.file))));
    }
    if args.uprobes {
        let found = Uprobes::of(&image, &code, mode);
        if args.json { out.pretty_json(&found) } else { uprobes::write_text(&found, &mut out) }?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut live = Live::new(getpgrp().as_raw());
    let survey = survey(&image, source, &code, mode, |done, all| {
        if let Some(live) = live.as_mut().filter(|live| live.is_due()) {
            live.show(format_args!("{} of {} MiB of code", done >> 20, all >> 20));
        }
    });
    drop(live);
    if args.json { out.pretty_json(&survey) } else { write_text(&survey, &mut out) }?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// How a thread passes a breakpoint on the instruction at an address of an image. `None`: there is no instruction.
pub(super) fn way_at(image: &Image, mode: Mode, address: u64) -> Option<Way> {
    match mode {
        Mode::X86(mode) => x86::way_at(image.bytes_at(address)?, address, mode),
        Mode::Arm64 => arm64::way_at(address, |at| image.bytes_at(at)),
    }
}

/// Surveys an image, and writes the text and the JSON form.
pub(crate) fn write(image: &Image, mode: Mode, out: &mut Output<'_>) -> Result<()> {
    let (source, ranges) = ranges(image);
    let survey = survey(image, source, &pieces(image, &ranges), mode, |_, _| {});
    write_text(&survey, out)?;
    out.pretty_json(&survey)
}

/// The most bytes of code that the measurement of speed decodes.
const MEASURED: usize = 16 << 20;

/// Surveys the code of an image, which is that of its ranges. `progress` is called repeatedly with the number of bytes done and of all bytes.
fn survey(
    image: &Image,
    ranges: &'static str,
    code: &[(u64, &[u8])],
    mode: Mode,
    mut progress: impl FnMut(u64, u64),
) -> Survey {
    let code_bytes = code.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let progress = |done| progress(done, code_bytes);
    let mut rests: Vec<(u64, &[u8])> =
        code.iter().map(|(start, bytes)| (*start, image.bytes_at(*start).unwrap_or(bytes))).collect();
    rests.sort_unstable_by_key(|(start, _)| *start);
    let found = match mode {
        Mode::X86(mode) => {
            parts::survey(code, |_, _| true, |part, survey| x86::look(part, &rests, mode, survey), progress)
        }
        Mode::Arm64 => parts::survey(code, arm64::is_apart, arm64::look, progress),
    };
    Survey {
        file: shown(image.path()),
        arch: image.arch().name(),
        ranges,
        code_bytes,
        instructions_per_second: speed(code, mode),
        ..found
    }
}

/// The ranges of code, and where they come from: `functions`, or `sections` if the file describes no function.
fn ranges(image: &Image) -> (&'static str, Cow<'_, [Range<u64>]>) {
    match image.code() {
        [] => ("sections", image.text_sections().into()),
        functions => ("functions", functions.into()),
    }
}

/// The code of the ranges, with its addresses.
fn pieces<'a>(image: &'a Image, ranges: &[Range<u64>]) -> Vec<(u64, &'a [u8])> {
    ranges.iter().filter_map(|range| Some((range.start, bytes(image, range)?))).collect()
}

/// The instructions that this machine decodes per second, by some of the code.
fn speed(code: &[(u64, &[u8])], mode: Mode) -> u64 {
    let mut left = MEASURED;
    let some: Vec<(u64, &[u8])> = code
        .iter()
        .filter_map(|(address, bytes)| {
            let some = bytes.get(..left.min(bytes.len())).filter(|some| !some.is_empty())?;
            left -= some.len();
            Some((*address, some))
        })
        .collect();
    let start = Instant::now();
    let decoded = match mode {
        Mode::X86(mode) => x86::decode_all(&some, mode),
        Mode::Arm64 => arm64::decode_all(&some),
    };
    (decoded as f64 / start.elapsed().as_secs_f64().max(1e-9)) as u64
}

fn bytes<'a>(image: &'a Image, range: &Range<u64>) -> Option<&'a [u8]> {
    let rest = image.bytes_at(range.start)?;
    let size = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    rest.get(..size.min(rest.len()))
}
