//! `ntrace trace`.

mod hit;

use std::collections::HashMap;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use ubp::{BreakpointId, Event, Patch, Pid, Report, Session};

use self::hit::{Frame, Hit};
use crate::args::{Format, TimeStyle, TraceArgs};
use crate::commands::values::Value;
use crate::failure::{Failure, Result};
use crate::follow::{self, Kind, Sink};
use crate::heritage::Heritage;
use crate::output::Output;
use crate::process::Space;
use crate::worker::{Control, End};

/// Writes a line for each hit, and a line for each caller.
struct Trace<'a> {
    args: &'a TraceArgs,
    output: Output<'static>,
    /// The time that is subtracted from the time of events.
    origin: Duration,
    /// The time that is added to the time of events.
    ahead: Duration,
    /// The number of hits that were written.
    written: u64,
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &TraceArgs, control: Control, heritage: Heritage) -> Result<End> {
    let output = Output::open(args.target.output.as_deref())?;
    let (origin, ahead) = match args.time {
        TimeStyle::Relative => (now(ClockId::CLOCK_MONOTONIC)?, Duration::ZERO),
        TimeStyle::Monotonic | TimeStyle::None => (Duration::ZERO, Duration::ZERO),
        TimeStyle::Epoch => (now(ClockId::CLOCK_MONOTONIC)?, now(ClockId::CLOCK_REALTIME)?),
    };
    let mut trace = Trace { args, output, origin, ahead, written: 0 };
    let mut follower =
        follow::start(&args.target, Kind { report: Report::Event, patch: Patch::Trap }, control, heritage)?;
    let end = follower.run(&mut trace).and_then(|end| trace.output.flush().map(|()| end));
    follower.finish(end)
}

fn now(clock: ClockId) -> Result<Duration> {
    clock_gettime(clock).map(Duration::from).map_err(|error| Failure::own(format!("clock_gettime: {error}")))
}

impl Trace<'_> {
    fn describe(&self, session: &mut Session, space: &mut Space, event: &Event, address: u64) -> ubp::Result<Hit> {
        let mut hit = Hit {
            event: "hit",
            time: None,
            pid: event.pid.0,
            tid: event.tid.0,
            description: space.description(address),
            args: None,
            stack: None,
        };
        if self.args.time != TimeStyle::None {
            hit.time = Some(event.time.saturating_sub(self.origin) + self.ahead);
        }
        if self.args.args || self.args.stack {
            let registers = session.registers(event.tid)?;
            if self.args.args {
                hit.args = Some(Value::arguments(session, event.pid, &registers));
            }
            if self.args.stack {
                let at_start = hit.description.symbol.is_some() && hit.description.offset == 0;
                let callers = space.callers(session, &registers, at_start);
                hit.stack = Some(callers.into_iter().map(|address| Frame(space.describe_caller(address))).collect());
            }
        }
        Ok(hit)
    }
}

impl Sink for Trace<'_> {
    fn hit(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        event: &Event,
        address: u64,
        _: BreakpointId,
    ) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        let hit = match self.describe(session, space, event, address) {
            Ok(hit) => hit,
            // A signal killed the thread at the site, so its registers and memory cannot be read.
            Err(_) => return Ok(()),
        };
        self.written += 1;
        match self.args.format {
            Format::Text => hit.write_text(&mut self.output),
            Format::Json => self.output.json(&hit),
        }
    }

    fn idle(&mut self, _: &Session, _: &HashMap<Pid, Space>) -> Result<()> {
        self.output.flush()
    }

    fn unloaded(&mut self, _: &Session, _: &Space) {}

    fn forked(&mut self, _: &Event, _: Pid) {}

    fn ended(&mut self, _: &Session, _: &mut Space) {}

    fn tick(&self) -> Option<Duration> {
        None
    }

    fn is_done(&self) -> bool {
        self.args.limit.is_some_and(|limit| self.written >= limit)
    }
}
