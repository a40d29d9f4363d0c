//! Counts hits for the view, in the worker process.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ubp::{Event, Pid, Report, Session};

use super::feed::{Feed, Snapshot, Told};
use crate::args::TopArgs;
use crate::commands::count::Table;
use crate::commands::tally::{Place, Tally, place};
use crate::failure::Result;
use crate::follow::{self, Arrival, Kind, Sink};
use crate::heritage::Heritage;
use crate::output::{Output, Summary, escaped, kept_messages};
use crate::process::Space;
use crate::worker::{Control, End};

/// The time between two snapshots.
const TICK: Duration = Duration::from_millis(250);

/// Counts hits.
struct Counter<'a> {
    tally: Tally,
    /// The number and the last hits of each location that had some.
    known: HashMap<Place, (usize, u64)>,
    feed: &'a mut Feed,
    began: Instant,
    /// When the last snapshot was told.
    told: Option<Instant>,
}

/// Counts until the program ends or the user leaves, and tells the view.
pub(super) fn run(args: &TopArgs, control: Control, heritage: Heritage, feed: &mut Feed) -> Result<End> {
    let summary = Summary::new("hits");
    let kind = Kind::new(Report::Count, args.method.into());
    let mut follower = follow::start(&args.target, kind, control, heritage.apart())?;
    let (tally, known, began) = (Tally::new(false), HashMap::new(), Instant::now());
    let mut counter = Counter { tally, known, feed, began, told: None };
    let end = follower.run(&mut counter);
    let Counter { tally, feed, .. } = counter;
    let table = Table::new(tally, follower.refused());
    let written = write(args, &table, feed);
    summary.tell(table.total, 0, follower.cost());
    follower.finish(written.and(end))
}

/// Writes the counts to the file of `-o`, or to the view, which shows them at its end.
fn write(args: &TopArgs, table: &Table, feed: &mut Feed) -> Result<()> {
    if args.target.output.is_some() {
        let mut output = Output::open(args.target.output.as_deref())?;
        table.write_text(&mut output)?;
        return output.flush();
    }
    let mut text = Vec::new();
    let mut output = Output::new("the table".into(), &mut text);
    table.write_text(&mut output)?;
    output.flush()?;
    drop(output);
    String::from_utf8_lossy(&text).lines().for_each(|line| feed.tell(&Told::Line(line.into())));
    Ok(())
}

impl Counter<'_> {
    fn snapshot(&mut self, session: &Session, spaces: &HashMap<Pid, Space>) -> Snapshot {
        let (mut hits, mut names) = (HashMap::new(), HashMap::new());
        for (place, description, count) in self.tally.gone().filter(|(_, _, count)| *count > 0) {
            *hits.entry(place).or_insert(0) += count;
            names.entry(place).or_insert_with(|| description.location.clone());
        }
        self.tally.present(session, spaces, |space, address, count| {
            if count > 0 {
                let module = space.module(address);
                let place = place(module, address);
                *hits.entry(place).or_insert(0) += count;
                if !self.known.contains_key(&place) {
                    names.entry(place).or_insert_with(|| space.describe(module, address).location);
                }
            }
        });
        let time = self.began.elapsed().as_secs_f64();
        let mut snapshot = Snapshot { time, processes: spaces.len(), new: Vec::new(), hits: Vec::new() };
        for (place, count) in hits {
            let next = self.known.len();
            let (number, last) = self.known.entry(place).or_insert_with(|| {
                let name = names.remove(&place).unwrap_or_default();
                snapshot.new.push(escaped(name));
                (next, 0)
            });
            if *last != count {
                *last = count;
                snapshot.hits.push((*number, count));
            }
        }
        snapshot
    }
}

impl Sink for Counter<'_> {
    /// Hits are only counted.
    fn hit(&mut self, _: &mut Session, _: &mut Space, _: &Arrival<'_>) -> Result<()> {
        Ok(())
    }

    fn idle(&mut self, session: &Session, spaces: &HashMap<Pid, Space>) -> Result<()> {
        self.tally.prune(spaces);
        let is_due = self.told.is_none_or(|told| told.elapsed() >= TICK);
        if is_due && self.feed.is_ready() {
            self.told = Some(Instant::now());
            kept_messages().into_iter().for_each(|message| self.feed.tell(&Told::Line(message)));
            let snapshot = self.snapshot(session, spaces);
            self.feed.tell(&Told::Snapshot(snapshot));
        }
        Ok(())
    }

    fn unloaded(&mut self, session: &Session, space: &Space) {
        self.tally.unloaded(session, space);
    }

    fn forked(&mut self, event: &Event, child: Pid) {
        self.tally.forked(event, child);
    }

    fn ended(&mut self, session: &Session, space: &mut Space) {
        self.tally.ended(session, space);
    }

    fn tick(&self) -> Option<Duration> {
        Some(TICK)
    }
}
