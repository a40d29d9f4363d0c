//! `ntrace latency`.

mod by;
mod exported;
mod row;

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use ubp::{Address, Call, Event, Patch, Pid, Report, Returns, Session, Tid};

use self::by::By;
use self::row::{Key, Row, Times, write_csv, write_text};
use crate::args::{LatencyArgs, TableFormat};
use crate::commands::timing;
use crate::failure::{Failure, Result};
use crate::filter::Rest;
use crate::fleet::{Exports, Roll, Scale};
use crate::follow::{self, Arrival, Kind, Sink};
use crate::heritage::Heritage;
use crate::output::{Output, Summary};
use crate::process::{Description, Space, source};
use crate::values::Callee;
use crate::worker::{Control, End};

/// The times so far.
struct Latency<'a> {
    args: &'a LatencyArgs,
    by: By,
    rows: BTreeMap<Key, Times>,
    returns: Returns<Open>,
    /// The threads on their way to a location of `--to`, where they come from, and since when.
    on_way: HashMap<(Pid, Tid), (Rc<Description>, Duration)>,
    /// The calls whose return cannot be seen.
    unseen: u64,
    /// The calls that had not returned, and the ways that had not ended, when the process ended.
    open: u64,
    roll: Roll<Key>,
    exports: Exports,
}

/// A call that has not returned.
#[derive(Clone)]
struct Open {
    function: Rc<Description>,
    callee: Callee,
    /// What the result has to satisfy.
    rest: Option<Rest>,
    /// The value by which the times are divided.
    value: String,
}

#[derive(Debug, Serialize)]
struct Table {
    latencies: Vec<Row>,
    /// The calls that had not returned when their process ended, executed another program, or was detached.
    open: u64,
    /// The calls whose return cannot be seen.
    unseen: u64,
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &LatencyArgs, control: Control, heritage: Heritage) -> Result<End> {
    let summary = Summary::new("times");
    let mut target = args.target.clone();
    timing::check(&target)?;
    if target.filter.is_used() && !args.to.is_empty() {
        return Err(Failure::usage("--to: the way from one location to another has no --if and no --sample"));
    }
    let by = By::parse(&args.by)?;
    if matches!(by, By::Value(_)) && !args.to.is_empty() {
        return Err(Failure::usage("--by: an expression is computed when a function is entered, and not with --to"));
    }
    target.locations.extend(args.to.iter().cloned());
    let mut output = Output::open(target.output.as_deref())?;
    let (rows, returns, on_way) = (BTreeMap::new(), Returns::new(), HashMap::new());
    let (roll, exports) = (Roll::new(Some(Scale::Durations)), Exports::start(&args.export)?);
    let mut latency = Latency { args, by, rows, returns, on_way, unseen: 0, open: 0, roll, exports };
    let mut follower = follow::start(
        &target,
        Kind { results: args.to.is_empty(), ..Kind::new(Report::Event, Patch::Auto) },
        control,
        heritage,
    )?;
    let end = follower.run(&mut latency);
    let Latency { rows, roll, exports, unseen, .. } = &mut latency;
    exports.put_last(|| exported::snapshot(rows, roll, 0, *unseen));
    let (table, exports, by) = latency.table();
    let written = table.write(args, &by, &mut output);
    let end = written.and_then(|()| output.flush()).and(end);
    summary.tell(table.latencies.iter().map(Row::count).sum(), table.unseen, follower.cost());
    exports.finish();
    follower.finish(end)
}

impl Latency<'_> {
    fn add(&mut self, description: &Rc<Description>, by: String, time: Duration, inner: Duration) -> Result<()> {
        let key = (description.image, description.in_file, by.clone());
        if !self.rows.contains_key(&key) {
            self.rows.insert(key.clone(), Times::new(Rc::clone(description), by)?);
        }
        self.rows.entry(key).and_modify(|times| times.add(time, inner));
        Ok(())
    }

    /// Adds a call that returned.
    fn returned(&mut self, session: &mut Session, space: &mut Space, event: &Event, call: &Call<Open>) -> Result<()> {
        let Open { function, callee, rest, value } = &call.tag;
        if !timing::is_wanted(rest.as_ref(), session, space, event, *callee) {
            return Ok(());
        }
        let by = match &self.by {
            By::Value(_) => value.clone(),
            By::Caller => {
                let caller = space.describe_caller(call.caller.0);
                format!("from {}{}", caller.location, source(&caller))
            }
            by => by.of(event),
        };
        self.add(function, by, call.duration, call.inner)
    }

    /// Ends the way that the thread is on, and begins the next.
    fn pass(&mut self, space: &mut Space, event: &Event, address: u64) -> Result<()> {
        // The locations of --to are behind those of -b.
        let first = self.args.target.locations.len();
        let asked = space.asked.get(&address).cloned().unwrap_or_default();
        let here = (event.pid, event.tid);
        if asked.range(first..).next().is_some() {
            if let Some((from, since)) = self.on_way.remove(&here) {
                let by = format!("to {} {}", space.description(address).location, self.by.of(event));
                self.add(&from, by.trim_end().into(), event.time.saturating_sub(since), Duration::ZERO)?;
            }
        }
        if asked.range(..first).next().is_some() {
            self.on_way.insert(here, (space.description(address), event.time));
        }
        Ok(())
    }

    fn table(self) -> (Table, Exports, By) {
        let mut latencies: Vec<Row> = self.rows.into_values().map(Times::row).collect();
        latencies.sort_by(|a, b| a.order().cmp(&b.order()));
        let open = self.open + self.on_way.len() as u64;
        (Table { latencies, open, unseen: self.unseen }, self.exports, self.by)
    }
}

impl Table {
    fn write(&self, args: &LatencyArgs, by: &By, out: &mut Output<'_>) -> Result<()> {
        match args.format {
            TableFormat::Text => {}
            TableFormat::Json => return out.json(self),
            TableFormat::Csv => return write_csv(&self.latencies, out),
        }
        // A row that names another place beside the function does not show the function's line.
        let sources = !matches!(by, By::Caller) && args.to.is_empty();
        write_text(&self.latencies, sources, args.histogram, out)?;
        match (self.open, args.to.is_empty()) {
            (0, _) => {}
            (1, true) => out.line("1 call had not returned")?,
            (count, true) => out.line(format_args!("{count} calls had not returned"))?,
            (count, false) => out.line(format_args!("{count} on the way to a location of --to"))?,
        }
        match self.unseen {
            0 => Ok(()),
            1 => out.line("1 call whose return cannot be seen: no breakpoint is possible there"),
            count => {
                out.line(format_args!("{count} calls whose return cannot be seen: no breakpoint is possible there"))
            }
        }
    }
}

impl Sink for Latency<'_> {
    fn hit(&mut self, session: &mut Session, space: &mut Space, arrival: &Arrival<'_>) -> Result<()> {
        let Arrival { event, address, id, .. } = *arrival;
        if !self.args.to.is_empty() {
            return self.pass(space, event, address);
        }
        if self.returns.is_return(event.pid, Address(address), id) {
            // A signal may have killed the thread here.
            let calls = self.returns.leave(session, event).unwrap_or_default();
            return calls.iter().try_for_each(|call| self.returned(session, space, event, call));
        }
        let function = timing::function(space, address, &mut self.returns)?;
        let rest = arrival.rest.clone();
        let value = match &mut self.by {
            By::Value(values) => values.at(session, space, event, address),
            _ => String::new(),
        };
        let callee = match rest {
            Some(_) => Callee::entered(session, space, (event.pid, event.tid), address),
            None => Callee::new(address),
        };
        if let Ok(None) = self.returns.enter(session, event, |_| Open { function, callee, rest, value }) {
            self.unseen += 1;
        }
        Ok(())
    }

    fn idle(&mut self, _: &Session, spaces: &HashMap<Pid, Space>) -> Result<()> {
        let Latency { rows, roll, exports, unseen, .. } = self;
        exports.put_if_wanted(|| exported::snapshot(rows, roll, spaces.len(), *unseen));
        Ok(())
    }

    fn unloaded(&mut self, _: &Session, _: &Space) {}

    fn forked(&mut self, event: &Event, child: Pid) {
        self.returns.forked(event, child);
    }

    fn ended(&mut self, _: &Session, space: &mut Space) {
        self.open += self.returns.forget(space.pid).len() as u64;
        let before = self.on_way.len();
        self.on_way.retain(|(pid, _), _| *pid != space.pid);
        self.open += (before - self.on_way.len()) as u64;
    }

    fn resuming(&mut self, event: &Event) {
        self.open += self.returns.resuming(event).len() as u64;
        if let Some((_, since)) = self.on_way.get_mut(&(event.pid, event.tid)).filter(|(_, since)| *since == event.time)
        {
            *since = timing::now().unwrap_or(*since);
        }
    }

    fn tick(&self) -> Option<Duration> {
        self.exports.tick()
    }
}
