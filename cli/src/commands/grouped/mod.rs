//! `ntrace count` with `--by`, `--hist` or `--top`: hits are divided into rows by what the thread had at the hit.

mod row;

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use ubp::rules::{Aggregate, Buckets, Top};
use ubp::{Address, Patch, Pid, Record, Registers, Report, Session, Tid};

use self::row::{Results, Row};
use crate::args::{CountArgs, Key, Source, TableFormat};
use crate::failure::{Failure, Result};
use crate::follow::{self, Arrival, Kind, Sink};
use crate::heritage::Heritage;
use crate::native;
use crate::output::{Output, Summary};
use crate::process::{Description, Space, source};
use crate::worker::{Control, End};

/// The most rows. Hits of further rows are summed in one row.
const MOST: usize = 1 << 16;
/// The interval at which ntrace reads the recorded hits.
const TICK: Duration = Duration::from_millis(20);

/// A row's image, address in its file, and what else it is for.
type Place = (Option<u64>, u64, By);

/// What a row is for beside its location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum By {
    Location,
    Thread(i32),
    Process(i32),
    Value(u64),
    /// A text that names the caller.
    Caller(Rc<str>),
}

/// The hits so far.
enum Rows {
    All(Aggregate<Place>),
    Top(Top<Place>),
}

struct Grouped<'a> {
    args: &'a CountArgs,
    rows: Rows,
    descriptions: HashMap<(Option<u64>, u64), Rc<Description>>,
}

/// A hit, of whatever origin.
struct Seen {
    pid: Pid,
    tid: Tid,
    address: u64,
    caller: Option<Address>,
    arguments: Vec<u64>,
    registers: Option<Registers>,
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &CountArgs, control: Control, heritage: Heritage) -> Result<End> {
    let format = args.format.of_table().map_err(Failure::usage)?;
    let summary = Summary::new("hits");
    let mut output = Output::open(args.target.output.as_deref())?;
    let kind = match args.grouping.needs_registers() {
        true => Kind { report: Report::Event, text: false, patch: Patch::Auto, results: false },
        false => Kind { report: Report::Record, text: false, patch: args.method.into(), results: false },
    };
    let all = || {
        let rows = Aggregate::new(MOST);
        Rows::All(if args.grouping.hist.is_some() { rows.with_histogram(Buckets::Log2) } else { rows })
    };
    let rows = args.grouping.top.map_or_else(all, |_| Rows::Top(Top::new(MOST)));
    let mut grouped = Grouped { args, rows, descriptions: HashMap::new() };
    let mut follower = follow::start(&args.target, kind, control, heritage)?;
    let end = follower.run(&mut grouped);
    let results = grouped.results();
    let written = match format {
        TableFormat::Text => results.write_text(&mut output),
        TableFormat::Json => output.json(&results),
        TableFormat::Csv => results.write_csv(&mut output),
    };
    let end = written.and_then(|()| output.flush()).and(end);
    if !args.quiet {
        summary.tell(results.total, follower.lost_records(), follower.cost());
    }
    follower.finish(end)
}

impl Seen {
    fn value(&self, source: Source) -> u64 {
        match source {
            Source::Argument(number) => self.arguments.get(number).copied(),
            Source::Register(register) => self.registers.as_ref().and_then(|registers| registers.get(register)),
        }
        .unwrap_or_default()
    }
}

impl Grouped<'_> {
    fn add(&mut self, space: &mut Space, seen: &Seen) {
        let description = space.description(seen.address);
        let by = match self.args.grouping.by {
            None => By::Location,
            Some(Key::Thread) => By::Thread(seen.tid.0),
            Some(Key::Process) => By::Process(seen.pid.0),
            Some(Key::Value(source)) => By::Value(seen.value(source)),
            Some(Key::Caller) => By::Caller(seen.caller.map_or("an unknown caller".into(), |caller| {
                let caller = space.describe_caller(caller.0);
                format!("{}{}", caller.location, source(&caller)).into()
            })),
        };
        let code = (description.image, description.in_file);
        let place = (code.0, code.1, by);
        self.descriptions.entry(code).or_insert(description);
        let value = self.args.grouping.hist.map_or(0, |source| seen.value(source));
        match &mut self.rows {
            Rows::All(rows) => rows.add(place, value),
            Rows::Top(rows) => rows.add(place),
        }
    }

    /// The text of a row beside its location.
    fn by(&self, by: &By) -> String {
        let name = match self.args.grouping.by {
            Some(Key::Value(source)) => source.to_string(),
            _ => String::new(),
        };
        match by {
            By::Location => String::new(),
            By::Thread(number) => format!("thread {number}"),
            By::Process(number) => format!("process {number}"),
            By::Value(value) => format!("{name}={value:#x}"),
            By::Caller(caller) => format!("from {caller}"),
        }
    }

    fn results(self) -> Results {
        let description = |grouped: &Grouped<'_>, place: &Place| grouped.descriptions.get(&(place.0, place.1)).cloned();
        let has_values = self.args.grouping.hist.is_some();
        let mut results = Results::default();
        match &self.rows {
            Rows::All(rows) => {
                let table = rows.read();
                results.total = table.total();
                results.other = table.other.as_ref().map_or(0, |other| other.count());
                for (place, values) in &table.rows {
                    let by = self.by(&place.2);
                    let shown = has_values.then_some(values);
                    results.rows.push(Row::new(description(&self, place), by, values.count(), 0, shown));
                }
            }
            Rows::Top(rows) => {
                let shown = self.args.grouping.top.map_or(usize::MAX, |top| top as usize);
                for (number, rank) in rows.read().into_iter().enumerate() {
                    results.total += rank.count;
                    if number < shown {
                        let by = self.by(&rank.key.2);
                        results.rows.push(Row::new(description(&self, &rank.key), by, rank.count, rank.error, None));
                    } else {
                        results.other += rank.count;
                    }
                }
            }
        }
        results.sort();
        results
    }
}

impl Sink for Grouped<'_> {
    fn hit(&mut self, session: &mut Session, space: &mut Space, arrival: &Arrival<'_>) -> Result<()> {
        let Arrival { event, address, .. } = *arrival;
        // A signal may have killed the thread at the site: the hit counts without values then.
        let registers = session.registers(event.tid).ok();
        let mut seen = Seen { pid: event.pid, tid: event.tid, address, caller: None, arguments: Vec::new(), registers };
        if let Some(registers) = &registers {
            seen.arguments = native::arguments(session, event.pid, registers);
            seen.caller = session.return_address(event.pid, registers);
        }
        self.add(space, &seen);
        Ok(())
    }

    fn recorded(&mut self, space: &mut Space, record: &Record) -> Result<()> {
        let seen = Seen {
            pid: record.pid,
            tid: record.tid,
            address: record.address.0,
            caller: record.return_address,
            arguments: record.arguments.to_vec(),
            registers: None,
        };
        self.add(space, &seen);
        Ok(())
    }

    fn idle(&mut self, _: &Session, _: &HashMap<Pid, Space>) -> Result<()> {
        Ok(())
    }

    fn unloaded(&mut self, _: &Session, _: &Space) {}

    fn forked(&mut self, _: &ubp::Event, _: Pid) {}

    fn ended(&mut self, _: &Session, _: &mut Space) {}

    fn tick(&self) -> Option<Duration> {
        // Records wake nobody.
        Some(TICK)
    }
}
