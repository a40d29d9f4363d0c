//! The counts in the form in which they are written.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::commands::tally::Tally;
use crate::failure::Result;
use crate::follow::Refused;
use crate::output::{Ink, Output, record};
use crate::process::Description;

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

/// All locations, those with most hits first.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct Table {
    pub(in crate::commands) total: u64,
    counts: Vec<Row>,
    refused: Vec<Refused>,
    /// The number of locations without hits that are not in `counts`.
    #[serde(skip)]
    silent: usize,
}

impl Table {
    /// The hits of a run whose breakpoints are all gone.
    pub(in crate::commands) fn new(tally: Tally, refused: Vec<Refused>) -> Table {
        let silent = tally.count_silent();
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
        let mut counts: Vec<Row> = merge(tally.into_locations()).into_iter().map(row).collect();
        counts.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.location.cmp(&b.location)));
        Table { total: counts.iter().map(|row| row.hits).sum(), counts, refused, silent }
    }

    pub(in crate::commands) fn write_text(&self, out: &mut Output<'_>) -> Result<()> {
        out.inked(&[(Ink::Head, &format_args!("{:>12}  location", "hits"))])?;
        for row in &self.counts {
            let source = match (&row.file, row.line) {
                (Some(file), Some(line)) => format!(" at {}:{line}", file.rsplit('/').next().unwrap_or(file)),
                _ => String::new(),
            };
            let other: Vec<&str> = row.names.iter().map(String::as_str).filter(|name| row.has_other(name)).collect();
            let other = if other.is_empty() { String::new() } else { format!(" ({})", other.join(", ")) };
            out.inked(&[
                (Ink::Plain, &format_args!("{:>12}  ", row.hits)),
                (Ink::Location, &row.location),
                (Ink::Plain, &other),
                (Ink::Minor, &source),
            ])?;
        }
        let other = if self.counts.is_empty() { "" } else { "other " };
        match self.silent {
            0 => {}
            1 => out.line(format_args!("{:>12}  at 1 {other}location", 0))?,
            count => out.line(format_args!("{:>12}  at {count} {other}locations (--all lists them)", 0))?,
        }
        out.line(format_args!("{:>12}  in all", self.total))
    }

    /// Writes a line for each location, behind a line with the names of the columns.
    pub(super) fn write_csv(&self, out: &mut Output<'_>) -> Result<()> {
        let head = ["hits", "location", "module", "symbol", "offset", "address", "file", "line"];
        out.line(record(&head.map(String::from)))?;
        self.counts.iter().try_for_each(|row| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            out.line(record(&[
                row.hits.to_string(),
                row.location.clone(),
                text(&row.module),
                text(&row.symbol),
                row.offset.to_string(),
                row.address.clone(),
                text(&row.file),
                row.line.map(|line| line.to_string()).unwrap_or_default(),
            ]))
        })
    }
}

impl Row {
    /// Whether a name is not part of the shown location.
    fn has_other(&self, name: &str) -> bool {
        let demangled = ubp_symbols::demangle(name);
        let shown = demangled.as_deref().unwrap_or(name);
        !self.location.ends_with(shown) && !shown.contains(['!', ':']) && !shown.starts_with("0x")
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
