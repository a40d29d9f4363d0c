//! `ntrace trace`.

mod arguments;
mod record;

use std::collections::HashMap;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use ubp::{Event, Pid, Report, Session};

use self::record::{Argument, Frame, Record};
use crate::args::{Format, TimeStyle, TraceArgs};
use crate::failure::{Failure, Result};
use crate::heritage::Heritage;
use crate::native;
use crate::output::Output;
use crate::process::Space;
use crate::watch::{self, Control, End, Sink};

/// Writes a line, or several with the stack, for each hit.
struct Trace<'a> {
    args: &'a TraceArgs,
    output: Output<'static>,
    /// Subtracted from the time of events.
    origin: Duration,
    /// Added to the time of events.
    ahead: Duration,
}

/// Runs the command, in the worker.
pub(crate) fn run(args: &TraceArgs, control: Control, heritage: Heritage) -> Result<End> {
    let output = Output::open(args.target.output.as_deref())?;
    let (origin, ahead) = match args.time {
        TimeStyle::Relative => (now(ClockId::CLOCK_MONOTONIC)?, Duration::ZERO),
        TimeStyle::Monotonic | TimeStyle::None => (Duration::ZERO, Duration::ZERO),
        TimeStyle::Epoch => (now(ClockId::CLOCK_MONOTONIC)?, now(ClockId::CLOCK_REALTIME)?),
    };
    let mut trace = Trace { args, output, origin, ahead };
    let mut watch = watch::start(&args.target, Report::Event, control, heritage)?;
    let end = watch.run(&mut trace).and_then(|end| trace.output.flush().map(|()| end));
    watch.finish(end)
}

fn now(clock: ClockId) -> Result<Duration> {
    clock_gettime(clock).map(Duration::from).map_err(|error| Failure::own(format!("clock_gettime: {error}")))
}

impl Trace<'_> {
    fn record(&self, session: &mut Session, space: &mut Space, event: &Event, address: u64) -> ubp::Result<Record> {
        let mut record = Record {
            event: "hit",
            time: None,
            pid: event.pid.0,
            tid: event.tid.0,
            place: space.place(address),
            args: None,
            stack: None,
        };
        if self.args.time != TimeStyle::None {
            record.time = Some(event.time.saturating_sub(self.origin) + self.ahead);
        }
        if self.args.args || self.args.stack {
            let registers = session.registers(event.tid)?;
            if self.args.args {
                let values = native::arguments(session, event.pid, &registers);
                let argument = |value| Argument { value, string: arguments::string(session, event.pid, value) };
                record.args = Some(values.into_iter().map(argument).collect());
            }
            if self.args.stack {
                let at_start = record.place.symbol.is_some() && record.place.offset == 0;
                let callers = space.callers(session, &registers, at_start);
                record.stack = Some(callers.into_iter().map(|address| Frame(space.caller(address))).collect());
            }
        }
        Ok(record)
    }
}

impl Sink for Trace<'_> {
    fn hit(&mut self, session: &mut Session, space: &mut Space, event: &Event, address: u64) -> Result<()> {
        let record = match self.record(session, space, event, address) {
            Ok(record) => record,
            // The thread was killed at the site; that it came there is all that is known.
            Err(_) => return Ok(()),
        };
        match self.args.target.format {
            Format::Text => record.write_text(&mut self.output),
            Format::Json => self.output.json(&record),
        }
    }

    fn idle(&mut self, _: &Session, _: &HashMap<Pid, Space>) -> Result<()> {
        self.output.flush()
    }

    fn unloaded(&mut self, _: &Session, _: &Space) {}

    fn forked(&mut self, _: Pid, _: Pid) {}

    fn ended(&mut self, _: &Session, _: &mut Space) {}

    fn tick(&self) -> Option<Duration> {
        None
    }
}
