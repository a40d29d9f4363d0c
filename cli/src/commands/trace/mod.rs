//! `ntrace trace`.

mod events;
mod hit;
mod returning;

use std::collections::HashMap;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use ubp::rules::Occurrence;
use ubp::{Event, Patch, Pid, Record, Report, Session, WhenFull};

use self::events::{Line, Recorder, Totals};
use self::hit::{Frame, Hit};
use self::returning::Returning;
use crate::args::{Format, Method, TimeStyle, TraceArgs};
use crate::commands::timing;
use crate::failure::{Failure, Result};
use crate::follow::{self, Arrival, Kind, Observed, Sink};
use crate::heritage::Heritage;
use crate::output::{Output, Summary, tell};
use crate::process::Space;
use crate::values::Value;
use crate::worker::{Control, End};

/// The interval at which ntrace reads the recorded hits.
const TICK: Duration = Duration::from_millis(20);

/// Writes a line for each hit, and a line for each caller.
struct Trace<'a> {
    args: &'a TraceArgs,
    output: Output<'static>,
    /// The time that is subtracted from the time of events.
    origin: Duration,
    /// The time that is added to the time of events.
    ahead: Duration,
    /// The number of hits and events that were written, and of hits whose outermost callers are missing.
    written: u64,
    cut: u64,
    events: Recorder,
    /// The calls that have not returned, if their returns are wanted.
    returning: Option<Returning>,
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &TraceArgs, control: Control, heritage: Heritage) -> Result<End> {
    if args.returned {
        timing::check(&args.target)?;
    }
    let summary = Summary::new("hits");
    let output = Output::open(args.target.output.as_deref())?;
    let (origin, ahead) = match args.time {
        TimeStyle::Relative => (now(ClockId::CLOCK_MONOTONIC)?, Duration::ZERO),
        TimeStyle::Monotonic | TimeStyle::None => (Duration::ZERO, Duration::ZERO),
        TimeStyle::Epoch => (now(ClockId::CLOCK_MONOTONIC)?, now(ClockId::CLOCK_REALTIME)?),
    };
    let events = Recorder::new(&args.observed)?;
    let buffer = if args.stack { follow::with_stacks(args.buffer.0) } else { args.buffer.0 };
    let observed = Observed { buffer, ..events.observed() };
    let returning = args.returned.then(Returning::default);
    let mut trace = Trace { args, output, origin, ahead, written: 0, cut: 0, events, returning };
    let kind = if holds(args) {
        // A jump holds no thread, except where a condition holds.
        let patch = if args.method == Method::Trap { Patch::Trap } else { Patch::Auto };
        Kind { results: args.returned, ..Kind::new(Report::Event, patch) }
    } else {
        Kind { text: args.args, stack: args.stack, ..Kind::new(Report::Record, args.method.into()) }
    };
    let mut follower = follow::start_observed(&args.target, kind, &observed, control, heritage)?;
    let end = follower.run(&mut trace);
    let written = follower.readings().iter().try_for_each(|(summary, reading)| {
        let totals = Totals::new(summary, reading);
        match args.format {
            Format::Text => totals.write_text(&mut trace.output),
            Format::Json => trace.output.json(&totals),
        }
    });
    let end = written.and_then(|()| trace.output.flush()).and(end);
    match (follower.lost_records(), args.buffer.0.when_full) {
        (0, _) => {}
        (lost, WhenFull::Overwrite) => tell(format_args!("{lost} earlier hits were overwritten")),
        (lost, _) => {
            tell(format_args!("{lost} hits were lost: the buffer was full (--buffer drop:HITS makes it larger)"))
        }
    }
    follow::tell_cut(trace.cut);
    summary.tell(trace.written, follower.lost_records(), follower.cost());
    follower.finish(end)
}

/// Whether threads are held at hits: to read variables, or to follow functions to their returns.
fn holds(args: &TraceArgs) -> bool {
    args.locals || args.returned || args.method == Method::Trap
}

fn now(clock: ClockId) -> Result<Duration> {
    clock_gettime(clock).map(Duration::from).map_err(|error| Failure::own(format!("clock_gettime: {error}")))
}

impl Trace<'_> {
    /// The time to print of an event at `time`.
    fn time(&self, time: Duration) -> Option<Duration> {
        (self.args.time != TimeStyle::None).then(|| time.saturating_sub(self.origin) + self.ahead)
    }

    fn write(&mut self, hit: &Hit) -> Result<()> {
        self.written += 1;
        match self.args.format {
            Format::Text => hit.write_text(&mut self.output),
            Format::Json => self.output.json(hit),
        }
    }

    /// Writes a line, unless all that were asked for are written.
    fn write_line(&mut self, line: &Line) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        self.written += 1;
        match self.args.format {
            Format::Text => line.write_text(&mut self.output),
            Format::Json => self.output.json(line),
        }
    }

    /// Writes a line for each call that has just returned.
    fn returned(&mut self, session: &mut Session, space: &mut Space, event: &Event) -> Result<()> {
        let Some(returning) = &mut self.returning else { return Ok(()) };
        for (call, value) in returning.leave(session, space, event) {
            if self.is_done() {
                return Ok(());
            }
            let line = returning::line(event, self.time(event.time), &call, value);
            self.written += 1;
            match self.args.format {
                Format::Text => line.write_text(&mut self.output)?,
                Format::Json => self.output.json(&line)?,
            }
        }
        Ok(())
    }

    fn describe(&self, session: &mut Session, space: &mut Space, event: &Event, address: u64) -> ubp::Result<Hit> {
        let mut hit = Hit {
            event: "hit",
            time: self.time(event.time),
            pid: event.pid.0,
            tid: event.tid.0,
            description: space.description(address),
            args: None,
            locals: None,
            stack: None,
            is_cut: false,
        };
        if self.args.args || self.args.locals || self.args.stack {
            let registers = session.registers(event.tid)?;
            if self.args.args {
                hit.args = Some(Value::arguments(session, space, (event.pid, event.tid), address, &registers));
            }
            if self.args.locals {
                hit.locals = Some(Value::locals(session, space, (event.pid, event.tid), &registers));
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
    fn hit(&mut self, session: &mut Session, space: &mut Space, arrival: &Arrival<'_>) -> Result<()> {
        let Arrival { event, address, .. } = *arrival;
        if self.is_done() {
            return Ok(());
        }
        if self.returning.as_ref().is_some_and(|returning| returning.is_return(arrival)) {
            return self.returned(session, space, event);
        }
        let function = self.returning.as_mut().map(|returning| returning.function(space, address)).transpose()?;
        let hit = match self.describe(session, space, event, address) {
            Ok(hit) => hit,
            // A signal killed the thread at the site, so its registers and memory cannot be read.
            Err(_) => return Ok(()),
        };
        // Of a call of which it is not known yet whether it is wanted, the return alone has a line.
        if arrival.rest.is_none() {
            self.write(&hit)?;
        }
        if let (Some(returning), Some(function)) = (&mut self.returning, function) {
            returning.enter(session, space, arrival, function, hit.args);
        }
        Ok(())
    }

    fn recorded(&mut self, space: &mut Space, record: &Record) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        let description = space.description(record.address.0);
        let at_start = description.symbol.is_some() && description.offset == 0;
        let callers = record.stack.as_ref().map(|stack| space.callers_in(stack, at_start));
        let is_cut = callers.as_ref().is_some_and(|(_, is_cut)| *is_cut);
        self.cut += u64::from(is_cut);
        let frames =
            |callers: Vec<u64>| callers.into_iter().map(|caller| Frame(space.describe_caller(caller))).collect();
        let stack = callers.map(|(callers, _)| frames(callers));
        let hit = Hit {
            event: "hit",
            time: self.time(record.time),
            pid: record.pid.0,
            tid: record.tid.0,
            description,
            args: self.args.args.then(|| Value::recorded(space, record)),
            locals: None,
            stack,
            is_cut,
        };
        self.write(&hit)
    }

    fn event(&mut self, session: &mut Session, space: &mut Space, event: &Event) -> Result<()> {
        let (origin, ahead) = (self.origin, self.ahead);
        let is_shown = self.args.time != TimeStyle::None;
        let time = |time: Duration| is_shown.then(|| time.saturating_sub(origin) + ahead);
        let lines = self.events.lines(session, space, event, time);
        lines.iter().try_for_each(|line| self.write_line(line))
    }

    fn occurred(&mut self, space: &mut Space, occurrence: &Occurrence) -> Result<()> {
        let line = Line::occurred(space, occurrence, self.time(occurrence.time));
        line.iter().try_for_each(|line| self.write_line(line))
    }

    fn idle(&mut self, _: &Session, _: &HashMap<Pid, Space>) -> Result<()> {
        self.output.flush()
    }

    fn unloaded(&mut self, _: &Session, _: &Space) {}

    fn forked(&mut self, event: &Event, child: Pid) {
        if let Some(returning) = &mut self.returning {
            returning.forked(event, child);
        }
    }

    fn ended(&mut self, _: &Session, space: &mut Space) {
        if let Some(returning) = &mut self.returning {
            returning.ended(space.pid);
        }
    }

    fn resuming(&mut self, event: &Event) {
        if let Some(returning) = &mut self.returning {
            returning.resuming(event);
        }
    }

    fn tick(&self) -> Option<Duration> {
        // Records wake nobody.
        (!holds(self.args)).then_some(TICK)
    }

    fn is_done(&self) -> bool {
        self.args.limit.is_some_and(|limit| self.written >= limit)
    }
}
