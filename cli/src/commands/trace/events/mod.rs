//! Events beside hits, in the form in which they are written.

mod life;
mod module;
mod occurred;
mod signal;
mod syscall;
mod totals;
mod watched;

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use ubp::rules::{Kind, Occurrence};
use ubp::{Event, EventKind, Module, Session};

use self::life::Life;
use self::module::Mapped;
use self::occurred::Occurred;
use self::signal::Delivered;
use self::syscall::{Call, Calls, Ended};
pub(super) use self::totals::Totals;
use self::watched::Accessed;
use super::hit::{seconds, write_time};
use crate::args::{EventArgs, Events};
use crate::failure::{Failure, Result};
use crate::follow::Observed;
use crate::location::Watch;
use crate::output::Output;
use crate::process::Space;
use crate::rules::RuleFile;

/// Makes lines of events.
pub(super) struct Recorder {
    events: Events,
    watches: Vec<Watch>,
    rules: Option<RuleFile>,
    calls: Calls,
}

/// One event. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    event: &'static str,
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    time: Option<Duration>,
    pid: i32,
    tid: i32,
    #[serde(flatten)]
    what: What,
}

/// What happened.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum What {
    Syscall(Call),
    Signal(Delivered),
    Mapped(Mapped),
    Life(Life),
    Accessed(Accessed),
    Occurred(Occurred),
}

impl Recorder {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// The file of rules cannot be read.
    pub(super) fn new(args: &EventArgs) -> Result<Recorder> {
        let events = args.events.unwrap_or(Events::NONE);
        let rules = args.rules.as_deref().map(RuleFile::read).transpose()?;
        let asks = |file: &RuleFile| {
            let calls = [Kind::SyscallEntered, Kind::SyscallReturned];
            file.set.rules.iter().any(|rule| calls.contains(&rule.on.kind()))
        };
        if !events.syscalls.is_empty() && rules.as_ref().is_some_and(asks) {
            return Err(Failure::usage("--events syscalls and rules about system calls exclude each other"));
        }
        Ok(Recorder { events, watches: args.watches.clone(), rules, calls: Calls::default() })
    }

    /// What the session has to report.
    pub(super) fn observed(&self) -> Observed {
        let Events { syscalls, signals, lives, .. } = self.events;
        // The end of a thread ends its system call.
        let threads = lives || !syscalls.is_empty();
        let watches = self.watches.clone();
        let rules = self.rules.clone();
        let alone = !self.events.is_empty() || !watches.is_empty() || rules.is_some();
        Observed { syscalls: syscalls.numbers(), signals, threads, watches, rules, alone, ..Observed::NONE }
    }

    /// The lines of an event. `time` is the time to print of a time of the session's clock.
    pub(super) fn lines(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        event: &Event,
        time: impl Fn(Duration) -> Option<Duration>,
    ) -> Vec<Line> {
        let mut lines = Vec::new();
        if !self.events.syscalls.is_empty() {
            let pid = event.pid.0;
            let line = |ended: Ended| {
                let what = What::Syscall(ended.call);
                Line { event: "syscall", time: time(ended.since), pid, tid: ended.tid.0, what }
            };
            lines.extend(self.calls.follow(event, &self.events.syscalls).into_iter().map(line));
        }
        let (at, pid, tid) = (time(event.time), event.pid.0, event.tid.0);
        let mut push = |name, what| lines.push(Line { event: name, time: at, pid, tid, what });
        let mapped = |module: &Module| What::Mapped(Mapped::new(module));
        match &event.kind {
            EventKind::Signal(info) if self.events.signals => push("signal", What::Signal(Delivered::new(info))),
            EventKind::Loaded(modules) if self.events.maps => {
                modules.iter().for_each(|module| push("loaded", mapped(module)));
            }
            EventKind::Unloaded(modules) if self.events.maps => {
                modules.iter().for_each(|module| push("unloaded", mapped(module)));
            }
            EventKind::Watched { id, address } => {
                let access = Accessed::new(session, space, event, *id, *address);
                access.into_iter().for_each(|access| push("watched", What::Accessed(access)));
            }
            _ if self.events.lives => {
                Life::of(event.pid, &event.kind).into_iter().for_each(|life| push(life.name, What::Life(life)));
            }
            _ => {}
        }
        lines
    }
}

impl Line {
    /// The line of what a rule recorded, at a time to print.
    pub(super) fn occurred(space: &mut Space, occurrence: &Occurrence, time: Option<Duration>) -> Option<Line> {
        let event = Kind::of(&occurrence.kind)?.name();
        let what = What::Occurred(Occurred::new(space, occurrence));
        Some(Line { event, time, pid: occurrence.pid.0, tid: occurrence.thread.tid.0, what })
    }

    /// Writes a line of text.
    pub(super) fn write_text(&self, out: &mut Output<'_>) -> Result<()> {
        let mut line = String::new();
        self.write(&mut line).map_err(|_| Failure::own("an event cannot be formatted"))?;
        out.line(line)
    }

    fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
        write_time(f, self.time)?;
        write!(f, "{:>7}  ", self.tid)?;
        match &self.what {
            What::Syscall(call) => write!(f, "{call}"),
            What::Signal(signal) => write!(f, "{signal}"),
            What::Mapped(module) => write!(f, "{} {module}", self.event),
            What::Life(life) => write!(f, "{life}"),
            What::Accessed(access) => write!(f, "{access}"),
            What::Occurred(occurred) => write!(f, "{occurred}"),
        }
    }
}
