//! `ntrace count`.

mod exported;
mod table;

use std::collections::HashMap;
use std::time::Duration;

use ubp::{Event, Pid, Report, Session};

use self::exported::Exported;
pub(super) use self::table::Table;
use super::tally::Tally;
use crate::args::{CountArgs, TableFormat};
use crate::failure::{Failure, Result};
use crate::fleet::Exports;
use crate::follow::{self, Arrival, Kind, Sink};
use crate::heritage::Heritage;
use crate::output::{Live, Output, Summary, TICK};
use crate::process::Space;
use crate::worker::{Control, End};

/// Counts hits.
struct Count {
    tally: Tally,
    live: Option<Live>,
    exported: Exported,
    exports: Exports,
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &CountArgs, control: Control, heritage: Heritage) -> Result<End> {
    check(args)?;
    let format = args.format.of_table().map_err(Failure::usage)?;
    let summary = Summary::new("hits");
    let mut output = Output::open(args.target.output.as_deref())?;
    let live = if args.quiet { None } else { Live::new(heritage.group()) };
    // JSON and CSV list every location that the user named.
    let all = args.all || (format != TableFormat::Text && !args.target.every_instruction);
    let (exported, exports) = (Exported::default(), Exports::start(&args.export)?);
    let mut count = Count { tally: Tally::new(all), live, exported, exports };
    let kind = Kind::new(Report::Count, args.method.into());
    let mut follower = follow::start(&args.target, kind, control, heritage)?;
    let end = follower.run(&mut count);
    let Count { tally, live, mut exported, mut exports } = count;
    drop(live);
    exports.put_last(|| exported.last(&tally));
    let table = Table::new(tally, follower.refused());
    let written = match format {
        TableFormat::Text => table.write_text(&mut output),
        TableFormat::Json => output.json(&table),
        TableFormat::Csv => table.write_csv(&mut output),
    };
    let end = written.and_then(|()| output.flush()).and(end);
    if !args.quiet {
        summary.tell(table.total, 0, follower.cost());
    }
    exports.finish();
    follower.finish(end)
}

/// Refuses what makes no sense where each hit is counted.
fn check(args: &CountArgs) -> Result<()> {
    match args.target.filter.sample {
        Some(_) => Err(Failure::usage(
            "--sample: every hit is counted, in nanoseconds; --sample is for --by, --hist and --top",
        )),
        None => Ok(()),
    }
}

impl Sink for Count {
    /// Hits are only counted. The breakpoints that hold a thread are those that ntrace set for itself, and the follower handles them.
    fn hit(&mut self, _: &mut Session, _: &mut Space, _: &Arrival<'_>) -> Result<()> {
        Ok(())
    }

    fn idle(&mut self, session: &Session, spaces: &HashMap<Pid, Space>) -> Result<()> {
        self.tally.prune(spaces);
        self.exports.put_if_wanted(|| self.exported.snapshot(&self.tally, session, spaces));
        let Some(live) = self.live.as_mut().filter(|live| live.is_due()) else { return Ok(()) };
        let mut total: u64 = self.tally.gone().map(|(_, _, hits)| hits).sum();
        let mut most: Option<(u64, &Space, u64)> = None;
        self.tally.present(session, spaces, |space, address, hits| {
            total += hits;
            if most.is_none_or(|(most, ..)| most < hits) {
                most = Some((hits, space, address));
            }
        });
        let most = most.filter(|(hits, ..)| *hits > 0).map(|(hits, space, address)| {
            format!(", most at {} ({hits})", space.describe(space.module(address), address).location)
        });
        live.show(format_args!("{total} hits{}", most.unwrap_or_default()));
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
        self.live.as_ref().map(|_| TICK).into_iter().chain(self.exports.tick()).min()
    }
}
