//! `ntrace count` with `--by`, `--hist` or `--top`: hits are divided into rows by what the thread had at the hit.

mod exported;
mod row;
mod rows;

use std::collections::HashMap;
use std::time::Duration;

use ubp::rules::Values;
use ubp::{Patch, Pid, Record, Report, Session};

use self::rows::{Grouped, Place, Seen};
use crate::args::{CountArgs, TableFormat};
use crate::failure::{Failure, Result};
use crate::fleet::{Exports, Roll, Scale};
use crate::follow::{self, Arrival, Kind, Sink, Summed, Sums};
use crate::heritage::Heritage;
use crate::native;
use crate::output::{Output, Summary};
use crate::process::Space;
use crate::worker::{Control, End};

/// The interval at which ntrace reads the recorded hits.
const TICK: Duration = Duration::from_millis(20);

/// The hits so far, and those who want them while the program runs.
struct Counting<'a> {
    grouped: Grouped<'a>,
    roll: Roll<Place>,
    exports: Exports,
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &CountArgs, control: Control, heritage: Heritage) -> Result<End> {
    let format = args.format.of_table().map_err(Failure::usage)?;
    let summary = Summary::new("hits");
    let mut output = Output::open(args.target.output.as_deref())?;
    let (by, hist) = (args.grouping.by, args.grouping.hist);
    let sums = args.grouping.top.is_none().then_some(Sums { by, hist });
    let kind = match args.grouping.needs_registers() {
        true => Kind::new(Report::Event, Patch::Auto),
        false => Kind::new(Report::Record, args.method.into()),
    };
    let kind = Kind { sums, ..kind };
    let roll = Roll::new(args.grouping.hist.map(|_| Scale::Values));
    let exports = Exports::start(&args.export)?;
    let mut counting = Counting { grouped: Grouped::new(args), roll, exports };
    let mut follower = follow::start(&args.target, kind, control, heritage)?;
    let end = follower.run(&mut counting);
    let Counting { grouped, mut roll, mut exports } = counting;
    exports.put_last(|| exported::snapshot(&grouped, &mut roll, 0, follower.lost_records()));
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
    exports.finish();
    follower.finish(end)
}

impl Sink for Counting<'_> {
    fn hit(&mut self, session: &mut Session, space: &mut Space, arrival: &Arrival<'_>) -> Result<()> {
        let Arrival { event, address, .. } = *arrival;
        // A signal may have killed the thread at the site: the hit counts without values then.
        let registers = session.registers(event.tid).ok();
        let mut seen = Seen { pid: event.pid, tid: event.tid, address, caller: None, arguments: Vec::new(), registers };
        if let Some(registers) = &registers {
            seen.arguments = native::arguments(session, event.pid, registers);
            seen.caller = session.return_address(event.pid, registers);
        }
        self.grouped.add(space, &seen);
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
        self.grouped.add(space, &seen);
        Ok(())
    }

    fn summed(&mut self, space: &mut Space, summed: &Summed<'_>) {
        self.grouped.add_summed(space, summed);
    }

    fn summed_others(&mut self, values: &Values) {
        self.grouped.add_others(values);
    }

    fn idle(&mut self, session: &Session, spaces: &HashMap<Pid, Space>) -> Result<()> {
        let Counting { grouped, roll, exports } = self;
        exports.put_if_wanted(|| exported::snapshot(grouped, roll, spaces.len(), session.lost_records()));
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
