//! `ntrace survey`.

mod kernel;
mod listing;
mod report;
mod speed;
mod uprobes;

use std::process::ExitCode;

use nix::unistd::getpgrp;
use survey::{Code, Survey, Uprobes};
use ubp_symbols::Image;
use ubp_symbols::code;

use self::speed::speed;
use crate::args::SurveyArgs;
use crate::failure::{Failure, Result};
use crate::output::{Live, Output, shown, tell};

/// Runs the command.
pub(crate) fn run(args: &SurveyArgs) -> Result<ExitCode> {
    if args.kprobes {
        let mut out = Output::stdout();
        kernel::run(args, &mut out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let image = Image::open(&args.file).map_err(|error| Failure::own(format!("{}: {error}", shown(&args.file))))?;
    let code = Code::of(&image, image.arch().mode(args.vendor.map_or_else(code::vendor, Into::into)));
    let mut out = Output::stdout();
    for what in image.take_refused() {
        tell(format_args!("{}: {what}", shown(&args.file)));
    }
    if code.is_empty() {
        return Err(Failure::own(format!("{}: the file has no code", shown(&args.file))));
    }
    if args.uprobes {
        uprobes::Report::of(&image, &code, Uprobes::of(&code)).write(args.json, &mut out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut live = Live::new(getpgrp().as_raw());
    let survey = Survey::of(&code, |done, all| {
        if let Some(live) = live.as_mut().filter(|live| live.is_due()) {
            live.show(format_args!("{} of {} MiB of code", done >> 20, all >> 20));
        }
    });
    drop(live);
    report::Report::of(&image, &code, survey, speed(&code)).write(args.json, &mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
