//! Where in a file a location is.

use std::collections::BTreeMap;

use super::grammar::{Location, Place, Reading};
use super::pattern::Pattern;
use crate::symbols::{Image, Kind, Names, Symbol};

/// Symbols that are listed by name in a note.
const LISTED: usize = 5;

/// An address of a file that a location means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// In the file's numbering.
    pub(crate) address: u64,
    /// What it is called, as far as the location chose by name.
    pub(crate) names: Vec<String>,
    /// The function that is meant is the one whose address the code at this one returns.
    pub(crate) indirect: bool,
    /// It was given by number: it may be no instruction.
    pub(crate) by_number: bool,
}

/// What a search in one file gives.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// The places that are meant, by address.
    pub(crate) sites: Vec<Site>,
    /// What was taken otherwise than written, or left out, in words.
    pub(crate) note: Option<String>,
    /// Symbols that are meant but stand for no code.
    pub(crate) data: Vec<String>,
    /// The last line of the source file that has code.
    pub(crate) last_line: Option<u64>,
    /// The source file is known.
    pub(crate) file_known: bool,
}

impl Location {
    /// All places of `image` that are meant: those of the first reading that has any.
    pub(crate) fn find(&self, image: &Image) -> Search {
        let found = self.readings.iter().map(|reading| reading.find(image)).find(|search| !search.sites.is_empty());
        let mut search = found.unwrap_or_default();
        search.note = search.note.map(|note| format!("'{}' in {}: {note}", self.text, image.name()));
        search
    }
}

impl Reading {
    /// Whether the image's name allows it to be meant.
    pub(crate) fn covers(&self, image: &Image) -> bool {
        self.module.as_ref().is_none_or(|module| module.matches(image))
    }

    /// All places of `image` that are meant.
    pub(crate) fn find(&self, image: &Image) -> Search {
        if !self.covers(image) {
            return Search::default();
        }
        match &self.place {
            Place::Symbol { name, offset } => {
                let mut search = by_name(image, name, *offset);
                let as_module = search.sites.is_empty() && *offset != 0 && self.module.is_none();
                if as_module && super::module::Module::new(name.text()).matches(image) {
                    search.sites.extend(by_number(image, *offset));
                }
                search
            }
            Place::Address(address) if self.module.is_some() => {
                Search { sites: by_number(image, *address).into_iter().collect(), ..Search::default() }
            }
            Place::Address(_) => Search::default(),
            Place::Line { file, line } => by_line(image, file, *line),
        }
    }
}

/// The site at a number, where it is code of the image.
fn by_number(image: &Image, address: u64) -> Option<Site> {
    let site = Site { address, names: Vec::new(), indirect: false, by_number: true };
    image.is_code(address).then_some(site)
}

/// How a symbol's name is one that was asked for, the closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// To the letter, by the linker's name or the readable one.
    Own,
    /// To the letter, by a shorter name that other symbols may share.
    Shared,
    /// To the letter, by a name of the function that it leads to: it is no instance of that.
    LeadsTo,
    /// To the letter, by the end of a path.
    End,
    /// By wildcards.
    Glob,
}

fn by_name(image: &Image, name: &Pattern, offset: u64) -> Search {
    let alike = |symbol: &'_ Symbol| likeness(symbol, &Names::of(&symbol.name), name);
    let symbols = image.symbols();
    let meant: Vec<(&Symbol, Likeness)> = match name.is_word() {
        // A single word is the name of a function outside of any namespace or crate, and mangling leaves it as it is.
        true => symbols
            .iter()
            .filter(|symbol| symbol.name.contains(name.text()))
            .filter_map(|symbol| Some((symbol, alike(symbol)?)))
            .collect(),
        false => symbols
            .readable()
            .filter(|(_, readable)| name.may_mean(readable))
            .filter_map(|(symbol, _)| Some((symbol, alike(symbol)?)))
            .collect(),
    };
    choose(image, meant, offset)
}

fn likeness(symbol: &Symbol, names: &Names, name: &Pattern) -> Option<Likeness> {
    if name.is(&symbol.name) || names.readable.as_ref().is_some_and(|form| name.is(form)) {
        return Some(Likeness::Own);
    }
    let is_versioned = name.text().contains('@') && symbol.version.is_some();
    if is_versioned && symbol.versioned().any(|form| name.is(&form)) {
        return Some(Likeness::Own);
    }
    if names.shared.iter().any(|form| name.is(form)) {
        return Some(Likeness::Shared);
    }
    if names.leads_to.iter().any(|form| name.is(form)) {
        return Some(Likeness::LeadsTo);
    }
    if names.readable.iter().chain(&names.shared).any(|form| name.ends(form)) || name.ends(&symbol.name) {
        return Some(Likeness::End);
    }
    // A glob means functions; stubs only where it shows that it wants them.
    let is_wanted = match symbol.kind {
        Kind::Plt => name.text().contains('@'),
        Kind::Label | Kind::Data => false,
        Kind::Function | Kind::Indirect => true,
    };
    let mut forms = names.readable.iter().chain(&names.shared);
    let by_glob = name.is_glob()
        && is_wanted
        && (name.matches(&symbol.name)
            || forms.any(|form| name.matches(form))
            || is_versioned && symbol.versioned().any(|form| name.matches(&form)));
    by_glob.then_some(Likeness::Glob)
}

/// Makes sites of the symbols that are meant.
fn choose(image: &Image, meant: Vec<(&Symbol, Likeness)>, offset: u64) -> Search {
    // What is a name to the letter is no glob. Bytes from the start are those of one instance, and not of all.
    let closest = meant.iter().map(|(_, likeness)| *likeness).min();
    let farthest = match closest {
        Some(Likeness::Own) if offset != 0 => Likeness::Own,
        Some(Likeness::Own | Likeness::Shared) => Likeness::Shared,
        Some(other) => other,
        None => return Search::default(),
    };
    let mut search = Search::default();
    let mut sites: BTreeMap<u64, Site> = BTreeMap::new();
    for (symbol, _) in meant.iter().filter(|(_, likeness)| *likeness <= farthest) {
        let address = symbol.address.wrapping_add(offset);
        if !symbol.has_code() || !image.is_code(address) {
            search.data.push(symbol.name.to_string());
            continue;
        }
        let indirect = symbol.kind == Kind::Indirect && offset == 0;
        let by_number = offset != 0;
        let site = sites.entry(address).or_insert_with(|| Site { address, names: Vec::new(), indirect, by_number });
        site.indirect |= indirect;
        let shown = if offset == 0 { symbol.name.to_string() } else { format!("{}+{offset:#x}", symbol.name) };
        if !site.names.contains(&shown) {
            site.names.push(shown);
        }
    }
    search.sites = sites.into_values().collect();
    let left_out = |(symbol, likeness): &(&Symbol, Likeness)| *likeness == Likeness::LeadsTo || !symbol.has_code();
    if farthest != Likeness::Glob {
        let is_site =
            |symbol: &Symbol| search.sites.iter().any(|site| site.address == symbol.address.wrapping_add(offset));
        let left_out: Vec<&Symbol> = meant
            .iter()
            .filter(|meant| left_out(meant))
            .map(|(symbol, _)| *symbol)
            .filter(|symbol| !is_site(symbol))
            .collect();
        search.note = note(&left_out);
    }
    search
}

/// What was left out, and why.
fn note(left_out: &[&Symbol]) -> Option<String> {
    let mut words: Vec<String> = left_out
        .iter()
        .map(|symbol| {
            let name = crate::symbols::demangle(&symbol.name).unwrap_or_else(|| symbol.name.to_string());
            if symbol.has_code() { name } else { format!("{name} (no code)") }
        })
        .collect();
    words.dedup();
    let more = words.len().saturating_sub(LISTED);
    words.truncate(LISTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!words.is_empty()).then(|| format!("left out: {}{more}", words.join(", ")))
}

fn by_line(image: &Image, file: &str, wanted: u64) -> Search {
    let Some(lines) = image.lines() else { return Search::default() };
    let mut found = lines.find(file);
    // Functions that the linker dropped have lines at addresses that are none.
    found.lines.values_mut().for_each(|addresses| addresses.retain(|address| image.is_code(*address)));
    found.lines.retain(|_, addresses| !addresses.is_empty());
    let mut search = Search {
        file_known: found.file_known,
        last_line: found.lines.keys().next_back().copied(),
        ..Search::default()
    };
    if let Some((line, addresses)) = found.lines.range(wanted..).next() {
        let names = vec![format!("{file}:{line}")];
        let site = |&address: &u64| Site { address, names: names.clone(), indirect: false, by_number: false };
        search.sites = addresses.iter().map(site).collect();
        search.note =
            (*line != wanted).then(|| format!("line {wanted} has no code; taken is {line}, the next that has"));
    }
    search
}
