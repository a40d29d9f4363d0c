//! `ntrace count`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde::Serialize;
use ubp::{Breakpoint, BreakpointId, Event, Pid, Report, Session};
use ubp_symbols::Module;

use crate::args::{CountArgs, Format};
use crate::failure::{Failure, Result};
use crate::follow::{self, Arrival, Kind, Refused, Sink};
use crate::heritage::Heritage;
use crate::output::{Live, Output, TICK};
use crate::process::{Description, Space};
use crate::worker::{Control, End};

/// The hits so far.
#[derive(Default)]
struct Count {
    /// The hits of breakpoints that are gone, by image and address in its file.
    tally: HashMap<(Option<u64>, u64), (Description, u64)>,
    done: HashMap<Pid, Done>,
    /// The addresses without hits, by image. An address may have hits in another process.
    silent: HashSet<(Option<u64>, u64)>,
    /// Whether locations without hits are listed too.
    all: bool,
    live: Option<Live>,
}

/// The breakpoints of one process whose code is gone and whose hits are in the tally.
#[derive(Clone, Default)]
struct Done {
    /// All breakpoints up to this one. They belong to a program before the last exec.
    through: Option<BreakpointId>,
    /// The breakpoints in modules that were unmapped or replaced, with their hits at that time.
    unloaded: HashMap<BreakpointId, u64>,
}

impl Done {
    /// Returns the hits of a breakpoint that are not in the tally yet.
    fn uncounted(&self, space: &Space, breakpoint: &Breakpoint) -> u64 {
        let id = breakpoint.id();
        let hits = space.hits(breakpoint);
        let counted = if Some(id) <= self.through { hits } else { *self.unloaded.get(&id).unwrap_or(&0) };
        hits.saturating_sub(counted)
    }
}

/// One location. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
struct Row {
    hits: u64,
    location: String,
    names: Vec<String>,
    module: Option<String>,
    symbol: Option<String>,
    offset: u64,
    /// The address in the module's file.
    address: String,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Debug, Serialize)]
struct Table {
    total: u64,
    counts: Vec<Row>,
    refused: Vec<Refused>,
    /// The number of locations without hits that are not in `counts`.
    #[serde(skip)]
    silent: usize,
}

/// Runs the command in the worker process.
pub(crate) fn run(args: &CountArgs, control: Control, heritage: Heritage) -> Result<End> {
    if args.target.filter.sample.is_some() {
        return Err(Failure::usage(
            "--sample: every hit is counted, in nanoseconds; --sample is for --by, --hist and --top",
        ));
    }
    let mut output = Output::open(args.target.output.as_deref())?;
    let live = if args.quiet { None } else { Live::new(heritage.group()) };
    // JSON lists every location that the user named.
    let all = args.all || (args.format == Format::Json && !args.target.every_instruction);
    let mut count = Count { all, live, ..Count::default() };
    let mut follower = follow::start(
        &args.target,
        Kind { report: Report::Count, text: false, patch: args.method.into(), results: false },
        control,
        heritage,
    )?;
    let end = follower.run(&mut count);
    count.live = None;
    let table = count.table(follower.refused());
    let written = match args.format {
        Format::Text => write_text(&table, &mut output),
        Format::Json => output.json(&table),
    };
    let end = written.and_then(|()| output.flush()).and(end);
    follower.finish(end)
}

impl Count {
    fn add(&mut self, description: Description, hits: u64) {
        let key = (description.image, description.in_file);
        self.tally.entry(key).or_insert((description, 0)).1 += hits;
    }

    fn add_silent(&mut self, module: Option<&Module>, address: u64) {
        let image = module.map(|module| module.image.number());
        self.silent.insert((image, module.map_or(address, |module| module.in_file(address))));
    }

    /// Returns the number of unlisted locations that had no hit in any process.
    fn count_silent(&self) -> usize {
        self.silent.iter().filter(|key| !self.tally.contains_key(key)).count()
    }

    /// Adds the hits of the breakpoints in `module`, or of all breakpoints, to the tally.
    fn collect(&mut self, session: &Session, space: &Space, module: Option<&Module>) {
        let mut done = self.done.remove(&space.pid).unwrap_or_default();
        let mut last = None;
        for breakpoint in session.breakpoints(space.pid) {
            let (id, address, hits) = (breakpoint.id(), breakpoint.address().0, done.uncounted(space, &breakpoint));
            last = last.max(Some(id));
            let is_there = module.is_none_or(|module| module.contains(address));
            let is_counted = Some(id) <= done.through || (hits == 0 && done.unloaded.contains_key(&id));
            if !is_there || space.roles.contains_key(&id) || is_counted {
                continue;
            }
            if module.is_some() {
                done.unloaded.insert(id, space.hits(&breakpoint));
            }
            let module = module.or_else(|| space.module(address));
            if hits == 0 && !self.all {
                self.add_silent(module, address);
            } else {
                self.add(space.describe(module, address), hits);
            }
        }
        if module.is_none() {
            done = Done { through: last, unloaded: HashMap::new() };
        }
        self.done.insert(space.pid, done);
    }

    fn table(self, refused: Vec<Refused>) -> Table {
        let silent = self.count_silent();
        let row = |(description, hits): (Description, u64)| Row {
            hits,
            location: description.location,
            names: description.names.map(|names| names.to_vec()).unwrap_or_default(),
            module: description.module,
            symbol: description.symbol,
            offset: description.offset,
            address: format!("{:#x}", description.in_file),
            file: description.file,
            line: description.line,
        };
        let mut counts: Vec<Row> = merge(self.tally.into_values().collect()).into_iter().map(row).collect();
        counts.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.location.cmp(&b.location)));
        Table { total: counts.iter().map(|row| row.hits).sum(), counts, refused, silent }
    }
}

/// Joins the rows of one location in several builds of a file that was replaced while the program ran. If one build has several
/// locations of that name, only rows with equal addresses are joined.
fn merge(mut rows: Vec<(Description, u64)>) -> Vec<(Description, u64)> {
    rows.sort_by_key(|(description, _)| description.image);
    let name = |description: &Description| (description.module.clone(), description.location.clone());
    let mut images: HashMap<_, HashSet<Option<u64>>> = HashMap::new();
    let mut ambiguous = HashSet::new();
    for (description, _) in &rows {
        if !images.entry(name(description)).or_default().insert(description.image) {
            ambiguous.insert(name(description));
        }
    }
    let mut merged: HashMap<_, (Description, u64)> = HashMap::new();
    for (description, hits) in rows {
        let name = name(&description);
        let address = ambiguous.contains(&name).then_some(description.in_file);
        let before = merged.get(&(name.clone(), address)).map_or(0, |(_, hits)| *hits);
        // The row shows the address in the last image.
        merged.insert((name, address), (description, before + hits));
    }
    merged.into_values().collect()
}

impl Sink for Count {
    /// Hits are only counted. The breakpoints that hold a thread are those that ntrace set for itself, and the follower handles them.
    fn hit(&mut self, _: &mut Session, _: &mut Space, _: &Arrival<'_>) -> Result<()> {
        Ok(())
    }

    fn idle(&mut self, session: &Session, spaces: &HashMap<Pid, Space>) -> Result<()> {
        // A process that ended has no breakpoints any more.
        if self.done.len() > spaces.len() {
            self.done.retain(|pid, _| spaces.contains_key(pid));
        }
        let Some(live) = self.live.as_mut().filter(|live| live.is_due()) else { return Ok(()) };
        let mut total: u64 = self.tally.values().map(|(_, hits)| hits).sum();
        let mut most: Option<(u64, &Space, u64)> = None;
        for space in spaces.values() {
            // The tally has the hits in code that is gone.
            let done = self.done.get(&space.pid);
            for breakpoint in session.breakpoints(space.pid).filter(|b| !space.roles.contains_key(&b.id())) {
                let hits = done.map_or_else(|| space.hits(&breakpoint), |done| done.uncounted(space, &breakpoint));
                total += hits;
                if most.is_none_or(|(most, ..)| most < hits) {
                    most = Some((hits, space, breakpoint.address().0));
                }
            }
        }
        let most = most.filter(|(hits, ..)| *hits > 0).map(|(hits, space, address)| {
            format!(", most at {} ({hits})", space.describe(space.module(address), address).location)
        });
        live.show(format_args!("{total} hits{}", most.unwrap_or_default()));
        Ok(())
    }

    fn unloaded(&mut self, session: &Session, space: &Space) {
        for module in space.modules.gone() {
            self.collect(session, space, Some(module));
        }
    }

    fn forked(&mut self, event: &Event, child: Pid) {
        let done = self.done.get(&event.pid).cloned().unwrap_or_default();
        self.done.insert(child, done);
    }

    fn ended(&mut self, session: &Session, space: &mut Space) {
        self.collect(session, space, None);
    }

    fn tick(&self) -> Option<Duration> {
        self.live.as_ref().map(|_| TICK)
    }
}

fn write_text(table: &Table, out: &mut Output<'_>) -> Result<()> {
    out.line(format_args!("{:>12}  location", "hits"))?;
    for row in &table.counts {
        let source = match (&row.file, row.line) {
            (Some(file), Some(line)) => format!(" at {}:{line}", file.rsplit('/').next().unwrap_or(file)),
            _ => String::new(),
        };
        let other: Vec<&str> = row.names.iter().map(String::as_str).filter(|name| is_other(name, row)).collect();
        let other = if other.is_empty() { String::new() } else { format!(" ({})", other.join(", ")) };
        out.line(format_args!("{:>12}  {}{other}{source}", row.hits, row.location))?;
    }
    let other = if table.counts.is_empty() { "" } else { "other " };
    match table.silent {
        0 => {}
        1 => out.line(format_args!("{:>12}  at 1 {other}location", 0))?,
        count => out.line(format_args!("{:>12}  at {count} {other}locations (--all lists them)", 0))?,
    }
    out.line(format_args!("{:>12}  in all", table.total))
}

/// Whether a name is not part of the shown location.
fn is_other(name: &str, row: &Row) -> bool {
    let demangled = ubp_symbols::demangle(name);
    let shown = demangled.as_deref().unwrap_or(name);
    !row.location.ends_with(shown) && !shown.contains(['!', ':']) && !shown.starts_with("0x")
}
