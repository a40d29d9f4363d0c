//! `ntrace count`.

use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use ubp::{Event, Pid, Report, Session};

use crate::args::{CountArgs, Format};
use crate::failure::Result;
use crate::heritage::Heritage;
use crate::output::Output;
use crate::process::{Module, Place, Space};
use crate::watch::{self, Control, End, Refused, Sink};

/// How often the display is brought up to date.
const TICK: Duration = Duration::from_millis(200);

/// Hits by module and address in it.
#[derive(Default)]
struct Count {
    tally: HashMap<(Option<String>, u64), (Place, u64)>,
    /// Breakpoints of code that is gone, whose hits are in the tally.
    done: HashMap<Pid, HashSet<ubp::BreakpointId>>,
    /// Shows places without hits, too.
    all: bool,
    display: Option<Display>,
}

/// What a terminal shows meanwhile.
struct Display {
    bar: ProgressBar,
    shown: Instant,
}

/// One place; the names are the keys of the JSON form.
#[derive(Debug, Serialize)]
struct Row {
    hits: u64,
    location: String,
    names: Vec<String>,
    module: Option<String>,
    symbol: Option<String>,
    offset: u64,
    /// In the module's own numbering.
    address: String,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Debug, Serialize)]
struct Table {
    total: u64,
    counts: Vec<Row>,
    refused: Vec<Refused>,
}

/// Runs the command, in the worker.
pub(crate) fn run(args: &CountArgs, control: Control, heritage: Heritage) -> Result<End> {
    let mut output = Output::open(args.target.output.as_deref())?;
    let display = io::stderr().is_terminal().then(Display::new);
    let mut count = Count { all: !args.target.every_instruction, display, ..Count::default() };
    let mut watch = watch::start(&args.target, Report::Count, control, heritage)?;
    let end = watch.run(&mut count);
    if let Some(display) = count.display.take() {
        display.bar.finish_and_clear();
    }
    let table = count.table(watch.refused());
    let written = output.write(|out| match args.target.format {
        Format::Text => write_text(&table, out),
        Format::Json => write_json(&table, out),
    });
    let end = written.and_then(|()| output.flush()).and(end);
    watch.finish(end)
}

impl Count {
    fn add(&mut self, place: Place, hits: u64) {
        let key = (place.module.clone(), place.in_file);
        self.tally.entry(key).or_insert((place, 0)).1 += hits;
    }

    /// Takes the hits of the breakpoints in `module`, or of all.
    fn take(&mut self, session: &Session, space: &Space, module: Option<&Module>) {
        let mut done = self.done.remove(&space.pid).unwrap_or_default();
        for breakpoint in session.breakpoints(space.pid) {
            let (id, address, hits) = (breakpoint.id(), breakpoint.address().0, breakpoint.hits());
            let wanted = module.is_none_or(|module| module.contains(address)) && (hits > 0 || self.all);
            if !wanted || space.roles.contains_key(&id) || done.contains(&id) {
                continue;
            }
            let module = module.or_else(|| space.module(address));
            self.add(space.describe(module, address, address), hits);
            done.insert(id);
        }
        self.done.insert(space.pid, done);
    }

    fn table(self, refused: Vec<Refused>) -> Table {
        let row = |(place, hits): (Place, u64)| Row {
            hits,
            location: place.location,
            names: place.names.map(|names| names.to_vec()).unwrap_or_default(),
            module: place.module,
            symbol: place.symbol,
            offset: place.offset,
            address: format!("{:#x}", place.in_file),
            file: place.file,
            line: place.line,
        };
        let mut counts: Vec<Row> = self.tally.into_values().map(row).collect();
        counts.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.location.cmp(&b.location)));
        Table { total: counts.iter().map(|row| row.hits).sum(), counts, refused }
    }
}

impl Sink for Count {
    /// Only breakpoints of ntrace's own stop a thread.
    fn hit(&mut self, _: &mut Session, _: &mut Space, _: &Event, _: u64) -> Result<()> {
        Ok(())
    }

    fn idle(&mut self, session: &Session, spaces: &HashMap<Pid, Space>) -> Result<()> {
        let Some(display) = self.display.as_mut().filter(|display| display.shown.elapsed() >= TICK) else {
            return Ok(());
        };
        let before: u64 = self.tally.values().map(|(_, hits)| hits).sum();
        let (mut total, mut most): (u64, Option<(u64, &Space, u64)>) = (before, None);
        for space in spaces.values() {
            for breakpoint in session.breakpoints(space.pid).filter(|b| !space.roles.contains_key(&b.id())) {
                total += breakpoint.hits();
                if most.is_none_or(|(hits, ..)| hits < breakpoint.hits()) {
                    most = Some((breakpoint.hits(), space, breakpoint.address().0));
                }
            }
        }
        let most = most.filter(|(hits, ..)| *hits > 0).map(|(hits, space, address)| {
            format!(", most at {} ({hits})", space.describe(space.module(address), address, address).location)
        });
        display.show(total, &most.unwrap_or_default());
        Ok(())
    }

    fn unloaded(&mut self, session: &Session, space: &Space) {
        for module in &space.gone {
            self.take(session, space, Some(module));
        }
    }

    fn ended(&mut self, session: &Session, space: &mut Space) {
        self.take(session, space, None);
    }

    fn tick(&self) -> Option<Duration> {
        self.display.as_ref().map(|_| TICK)
    }
}

impl Display {
    fn new() -> Display {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        Display { bar, shown: Instant::now() }
    }

    fn show(&mut self, total: u64, most: &str) {
        self.shown = Instant::now();
        self.bar.set_message(format!("{total} hits{most}"));
        self.bar.tick();
    }
}

fn write_text(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{:>12}  location", "hits")?;
    for row in &table.counts {
        let source = match (&row.file, row.line) {
            (Some(file), Some(line)) => format!(" at {}:{line}", file.rsplit('/').next().unwrap_or(file)),
            _ => String::new(),
        };
        let other: Vec<&str> = row.names.iter().map(String::as_str).filter(|name| is_other(name, row)).collect();
        let other = if other.is_empty() { String::new() } else { format!(" ({})", other.join(", ")) };
        writeln!(out, "{:>12}  {}{other}{source}", row.hits, row.location)?;
    }
    writeln!(out, "{:>12}  in all", table.total)
}

/// Whether a name says more than the location does.
fn is_other(name: &str, row: &Row) -> bool {
    let demangled = crate::symbols::demangle(name);
    let shown = demangled.as_deref().unwrap_or(name);
    !row.location.ends_with(shown) && !shown.contains(['!', ':']) && !shown.starts_with("0x")
}

fn write_json(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, table)?;
    out.write_all(b"\n")
}
