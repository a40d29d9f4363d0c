//! `ntrace coverage`.

mod lcov;
mod report;
mod text;

use std::collections::HashMap;
use std::time::Duration;

use ubp::{Event, Pid, Session};

use self::report::Report;
use crate::args::{CoverageArgs, CoverageFormat};
use crate::failure::{Failure, Result};
use crate::follow::{self, Arrival, Sink};
use crate::heritage::Heritage;
use crate::output::Output;
use crate::process::Space;
use crate::worker::{Control, End};

/// No single hit is of interest: the follower notes which blocks were executed.
struct Nothing;

impl Sink for Nothing {
    fn hit(&mut self, _: &mut Session, _: &mut Space, _: &Arrival<'_>) -> Result<()> {
        Ok(())
    }

    fn idle(&mut self, _: &Session, _: &HashMap<Pid, Space>) -> Result<()> {
        Ok(())
    }

    fn unloaded(&mut self, _: &Session, _: &Space) {}

    fn forked(&mut self, _: &Event, _: Pid) {}

    fn ended(&mut self, _: &Session, _: &mut Space) {}

    fn tick(&self) -> Option<Duration> {
        None
    }
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &CoverageArgs, control: Control, heritage: Heritage) -> Result<End> {
    let filter = &args.target.filter;
    if args.target.every_instruction || filter.is_used() || !filter.after.is_empty() || !filter.until.is_empty() {
        return Err(Failure::usage(
            "coverage tells whether code is executed at all; --every-instruction, --if, --sample, --after and --until have no meaning for it",
        ));
    }
    let mut output = Output::open(args.target.output.as_deref())?;
    let mut follower = follow::start_blocks(&args.target, control, heritage)?;
    let end = follower.run(&mut Nothing);
    let report = Report::new(follower.covered());
    let written = match args.format {
        CoverageFormat::Text => text::write(&report, &mut output),
        CoverageFormat::Json => output.json(&report),
        CoverageFormat::Lcov => lcov::write(&report, &mut output),
    };
    let end = written.and_then(|()| output.flush()).and(end);
    follower.finish(end)
}
