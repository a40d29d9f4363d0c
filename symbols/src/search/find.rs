//! Finds the addresses of a name or a line in a file.

use std::collections::BTreeMap;

use super::pattern::Pattern;
use crate::elf::{Image, Kind, Names, Symbol, demangle};

/// The largest number of symbols that a note lists.
const LISTED: usize = 5;

/// An address of a name or a line in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Site {
    /// The address in the file.
    pub address: u64,
    /// The names of the symbols, or the line that was asked for.
    pub names: Vec<String>,
    /// Whether the code at the address is a resolver: it returns the address of the function to use.
    pub indirect: bool,
    /// Whether the search had a number or an offset, so that the address may be inside an instruction.
    pub by_number: bool,
}

/// The result of a search in one file.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Search {
    /// The addresses that were found, ascending.
    pub sites: Vec<Site>,
    /// A note about symbols that were left out, or about another line that was used.
    pub note: Option<String>,
    /// The symbols that match but have no code.
    pub data: Vec<String>,
    /// The last line of the source file that has code.
    pub last_line: Option<u64>,
    /// Whether the source file is known.
    pub file_known: bool,
}

/// Returns the site at an address in the file, if it is code.
pub fn by_address(image: &Image, address: u64) -> Option<Site> {
    let site = Site { address, names: Vec::new(), indirect: false, by_number: true };
    image.is_code(address).then_some(site)
}

/// How a symbol matches a name, the closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// The linker's name or the readable name equals the name.
    Own,
    /// A shorter name, which other symbols may share, equals the name.
    Shared,
    /// A name of the function that the symbol, a thunk, jumps to equals the name. The symbol is no instance of that function.
    LeadsTo,
    /// The end of a path equals the name.
    End,
    /// The glob matches.
    Glob,
}

/// Searches the functions of a file by their names. `offset` in bytes is added to the address of each.
///
/// The closest matches count alone: a name that a function has exactly is not taken for the end of another function's name, nor for a glob.
pub fn by_name(image: &Image, name: &Pattern, offset: u64) -> Search {
    let alike = |symbol: &Symbol<'_>| likeness(symbol, &Names::of(symbol.name), name);
    let symbols = image.symbols();
    let meant: Vec<(Symbol<'_>, Likeness)> = match name.is_word() {
        // A single word is the name of a function outside of all namespaces and crates. Mangled names contain it unchanged.
        true => symbols
            .iter()
            .filter(|symbol| symbol.name.contains(name.text()))
            .filter_map(|symbol| Some((symbol, alike(&symbol)?)))
            .collect(),
        false => symbols
            .readable()
            .filter(|(_, readable)| name.may_mean(readable))
            .filter_map(|(symbol, _)| Some((symbol, alike(&symbol)?)))
            .collect(),
    };
    choose(image, meant, offset)
}

fn likeness(symbol: &Symbol<'_>, names: &Names, name: &Pattern) -> Option<Likeness> {
    if name.is(symbol.name) || names.readable.as_ref().is_some_and(|form| name.is(form)) {
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
    if names.readable.iter().chain(&names.shared).any(|form| name.ends(form)) || name.ends(symbol.name) {
        return Some(Likeness::End);
    }
    // A glob matches functions; it matches stubs only if it contains an @.
    let is_wanted = match symbol.kind {
        Kind::Plt => name.text().contains('@'),
        Kind::Label | Kind::Data | Kind::ThreadLocal => false,
        Kind::Function | Kind::Indirect => true,
    };
    let mut forms = names.readable.iter().chain(&names.shared);
    let by_glob = name.is_glob()
        && is_wanted
        && (name.matches(symbol.name)
            || forms.any(|form| name.matches(form))
            || is_versioned && symbol.versioned().any(|form| name.matches(&form)));
    by_glob.then_some(Likeness::Glob)
}

/// Selects the symbols that match most closely, and returns their sites.
fn choose(image: &Image, meant: Vec<(Symbol<'_>, Likeness)>, offset: u64) -> Search {
    // A name that equals a symbol is no glob. An offset applies to one instance of a function and not to all.
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
    let left_out = |(symbol, likeness): &(Symbol<'_>, Likeness)| *likeness == Likeness::LeadsTo || !symbol.has_code();
    if farthest != Likeness::Glob {
        let is_site =
            |symbol: &Symbol<'_>| search.sites.iter().any(|site| site.address == symbol.address.wrapping_add(offset));
        let left_out: Vec<Symbol<'_>> = meant
            .iter()
            .filter(|meant| left_out(meant))
            .map(|(symbol, _)| *symbol)
            .filter(|symbol| !is_site(symbol))
            .collect();
        search.note = note(&left_out);
    }
    search
}

/// Returns a note about symbols that were left out, and why.
fn note(left_out: &[Symbol<'_>]) -> Option<String> {
    let mut words: Vec<String> = left_out
        .iter()
        .map(|symbol| {
            let name = demangle(symbol.name).unwrap_or_else(|| symbol.name.to_string());
            if symbol.has_code() { name } else { format!("{name} (no code)") }
        })
        .collect();
    words.dedup();
    let more = words.len().saturating_sub(LISTED);
    words.truncate(LISTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!words.is_empty()).then(|| format!("left out: {}{more}", words.join(", ")))
}

/// Searches the code of a line in the source files whose path ends with `file`. If the line has no code, the next line that has counts.
pub fn by_line(image: &Image, file: &str, wanted: u64) -> Search {
    let Some(lines) = image.lines() else { return Search::default() };
    let mut found = lines.find(file);
    // The lines of functions that the linker dropped have addresses without code.
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
        search.note = (*line != wanted).then(|| format!("line {wanted} has no code; line {line} is the next that has"));
    }
    search
}
