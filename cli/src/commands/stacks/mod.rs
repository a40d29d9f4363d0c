//! `ntrace count --stack`: hits are counted for each way to a location.

mod row;

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use ubp::{Buffer, Event, Patch, Pid, Record, Report, Session};

use self::row::{Results, Row};
use crate::args::{CountArgs, CountFormat, Method};
use crate::commands::flame::{self, Picture};
use crate::failure::Result;
use crate::follow::{self, Arrival, Kind, Observed, Sink};
use crate::heritage::Heritage;
use crate::output::{Output, Summary};
use crate::process::{Description, Space};
use crate::worker::{Control, End};

/// The interval at which ntrace reads the recorded hits.
const TICK: Duration = Duration::from_millis(20);
/// The most rows. Hits of further stacks are summed in one row.
const MOST: usize = 1 << 16;

const HITS: Picture = Picture {
    title: "Ways to the locations",
    unit: "hits",
    empty: "no thread reached a location, so that there is nothing to draw",
};

/// An image, and an address in its file.
type Place = (Option<u64>, u64);

/// The hits so far.
#[derive(Default)]
struct Stacks {
    rows: Vec<Row>,
    /// The rows by the places of their frames. Processes of one program share rows.
    by_frames: HashMap<Box<[Place]>, usize>,
    /// The rows by the addresses of their frames in a process. `None` is the row of all further stacks.
    by_addresses: HashMap<Pid, HashMap<Box<[u64]>, Option<usize>>>,
    /// The hits of stacks that have no row.
    other: u64,
    /// The hits of threads that a signal killed at the location.
    killed: u64,
    /// The hits whose outermost callers are missing.
    cut: u64,
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &CountArgs, control: Control, heritage: Heritage) -> Result<End> {
    let summary = Summary::new("hits");
    let mut output = Output::open(args.target.output.as_deref())?;
    // A thread is held while its callers are found, or they are found in a copy of its stack.
    let kind = match args.method {
        Method::Trap => Kind::new(Report::Event, Patch::Trap),
        _ => Kind { stack: true, ..Kind::new(Report::Record, args.method.into()) },
    };
    let mut stacks = Stacks::default();
    let observed = Observed { buffer: follow::with_stacks(Buffer::default()), ..Observed::NONE };
    let mut follower = follow::start_observed(&args.target, kind, &observed, control, heritage)?;
    let end = follower.run(&mut stacks);
    let cut = stacks.cut;
    let results = stacks.results(args.grouping.top);
    let written = match args.format {
        CountFormat::Text => results.write_text(&mut output),
        CountFormat::Json => output.json(&results),
        CountFormat::Csv => results.write_csv(&mut output),
        CountFormat::Folded => flame::write_folded(&results.folded(), &mut output),
        CountFormat::Flamegraph => flame::draw(&HITS, &results.folded(), &mut output),
    };
    let end = written.and_then(|()| output.flush()).and(end);
    follow::tell_cut(cut);
    if !args.quiet {
        summary.tell(results.total(), follower.lost_records(), follower.cost());
    }
    follower.finish(end)
}

impl Stacks {
    fn add(&mut self, space: &mut Space, address: u64, callers: &[u64], is_cut: bool) {
        self.cut += u64::from(is_cut);
        let frames: Box<[u64]> = [&[address], callers].concat().into();
        let known = self.by_addresses.get(&space.pid).and_then(|known| known.get(&frames));
        if let Some(row) = known.copied() {
            return self.count(row, is_cut);
        }
        let row = self.row(space, address, callers);
        let known = self.by_addresses.entry(space.pid).or_default();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(frames, row);
        self.count(row, is_cut);
    }

    /// The row of a stack, which may be new.
    fn row(&mut self, space: &mut Space, address: u64, callers: &[u64]) -> Option<usize> {
        let at = space.description(address);
        let callers: Vec<Rc<Description>> =
            callers.iter().map(|caller| Rc::new(space.describe_caller(*caller))).collect();
        let places: Box<[Place]> =
            [&at].into_iter().chain(&callers).map(|frame| (frame.image, frame.in_file)).collect();
        if let Some(row) = self.by_frames.get(&places) {
            return Some(*row);
        }
        let next = self.rows.len();
        if next >= MOST {
            return None;
        }
        self.rows.push(Row::new(at, callers));
        self.by_frames.insert(places, next);
        Some(next)
    }

    fn count(&mut self, row: Option<usize>, is_cut: bool) {
        match row.and_then(|row| self.rows.get_mut(row)) {
            Some(row) => {
                row.hits += 1;
                row.is_cut |= is_cut;
            }
            None => self.other += 1,
        }
    }

    fn results(self, top: Option<u32>) -> Results {
        let shown = top.map_or(usize::MAX, |top| top as usize);
        Results::new(self.rows, self.other + self.killed, shown)
    }
}

impl Sink for Stacks {
    fn hit(&mut self, session: &mut Session, space: &mut Space, arrival: &Arrival<'_>) -> Result<()> {
        let Ok(registers) = session.registers(arrival.event.tid) else {
            self.killed += 1;
            return Ok(());
        };
        let at = space.description(arrival.address);
        let callers = space.callers(session, &registers, at.symbol.is_some() && at.offset == 0);
        self.add(space, arrival.address, &callers, false);
        Ok(())
    }

    fn recorded(&mut self, space: &mut Space, record: &Record) -> Result<()> {
        let Some(stack) = &record.stack else { return Ok(()) };
        let at = space.description(record.address.0);
        let (callers, is_cut) = space.callers_in(stack, at.symbol.is_some() && at.offset == 0);
        self.add(space, record.address.0, &callers, is_cut);
        Ok(())
    }

    fn idle(&mut self, _: &Session, _: &HashMap<Pid, Space>) -> Result<()> {
        Ok(())
    }

    /// Other code may come to the addresses of the module.
    fn unloaded(&mut self, _: &Session, space: &Space) {
        self.by_addresses.remove(&space.pid);
    }

    fn forked(&mut self, _: &Event, _: Pid) {}

    fn ended(&mut self, _: &Session, space: &mut Space) {
        self.by_addresses.remove(&space.pid);
    }

    fn tick(&self) -> Option<Duration> {
        // Records wake nobody.
        Some(TICK)
    }
}
