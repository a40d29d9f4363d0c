//! The hits so far, divided into rows.

use std::collections::HashMap;
use std::rc::Rc;

use ubp::rules::{Aggregate, Buckets, Top, Values};
use ubp::{Address, Pid, Registers, Tid};

use super::row::{Results, Row};
use crate::args::{CountArgs, Key, Source};
use crate::follow::Summed;
use crate::process::{Description, Space, source};

/// The most rows. Hits of further rows are summed in one row.
const MOST: usize = 1 << 16;

/// A row's image, address in its file, and what else it is for.
pub(super) type Place = (Option<u64>, u64, By);

/// What a row is for beside its location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum By {
    Location,
    Thread(i32),
    Process(i32),
    Value(u64),
    /// A text that names the caller.
    Caller(Rc<str>),
}

/// The hits so far.
pub(super) enum Rows {
    All(Aggregate<Place>),
    Top(Top<Place>),
}

/// The hits so far, and the descriptions of their locations.
pub(super) struct Grouped<'a> {
    args: &'a CountArgs,
    pub(super) rows: Rows,
    descriptions: HashMap<(Option<u64>, u64), Rc<Description>>,
}

/// A hit, of whatever origin.
pub(super) struct Seen {
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    pub(super) address: u64,
    pub(super) caller: Option<Address>,
    pub(super) arguments: Vec<u64>,
    pub(super) registers: Option<Registers>,
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

impl<'a> Grouped<'a> {
    /// No hit yet.
    pub(super) fn new(args: &'a CountArgs) -> Grouped<'a> {
        let all = || {
            let rows = Aggregate::new(MOST);
            Rows::All(if args.grouping.hist.is_some() { rows.with_histogram(Buckets::Log2) } else { rows })
        };
        let rows = args.grouping.top.map_or_else(all, |_| Rows::Top(Top::new(MOST)));
        Grouped { args, rows, descriptions: HashMap::new() }
    }

    /// Whether rows have values.
    pub(super) fn has_values(&self) -> bool {
        self.args.grouping.hist.is_some()
    }

    pub(super) fn add(&mut self, space: &mut Space, seen: &Seen) {
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

    /// Adds hits of one row that were summed up elsewhere.
    pub(super) fn add_summed(&mut self, space: &mut Space, summed: &Summed<'_>) {
        let description = space.description(summed.address);
        let code = (description.image, description.in_file);
        self.descriptions.entry(code).or_insert(description);
        let number = summed.by.unwrap_or_default();
        let by = match self.args.grouping.by {
            Some(Key::Thread) => By::Thread(number as i32),
            Some(Key::Process) => By::Process(number as i32),
            Some(Key::Value(_)) => By::Value(number),
            _ => By::Location,
        };
        if let Rows::All(rows) = &mut self.rows {
            rows.add_all((code.0, code.1, by), summed.values);
        }
    }

    /// Adds hits of further rows than there may be.
    pub(super) fn add_others(&mut self, values: &Values) {
        if let Rows::All(rows) = &mut self.rows {
            rows.add_others(values);
        }
    }

    /// The location of a row, and its text beside that.
    pub(super) fn texts(&self, place: &Place) -> (&str, String) {
        let description = self.descriptions.get(&(place.0, place.1));
        (description.map_or("", |description| &description.location), self.by(&place.2))
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

    /// The table of all rows.
    pub(super) fn results(self) -> Results {
        let description = |grouped: &Grouped<'_>, place: &Place| grouped.descriptions.get(&(place.0, place.1)).cloned();
        let has_values = self.has_values();
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
