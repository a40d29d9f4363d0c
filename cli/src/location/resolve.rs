//! Where in a file a location is.

use std::collections::BTreeMap;

use super::grammar::{Location, Place};
use super::pattern::Pattern;
use crate::symbols::{Image, Kind, LineSearch, Symbol, forms};

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
    /// Symbols that are meant but stand for no code.
    pub(crate) data: Vec<String>,
    /// Lines of the source file that have code, where the line asked for has none.
    pub(crate) lines: Vec<u64>,
    /// The source file is known.
    pub(crate) file_known: bool,
}

impl Location {
    /// Whether the image's name allows it to be meant.
    pub(crate) fn covers(&self, image: &Image) -> bool {
        self.module.as_ref().is_none_or(|module| module.matches_module(image.path()))
    }

    /// All places of `image` that are meant.
    pub(crate) fn find(&self, image: &Image) -> Search {
        match &self.place {
            Place::Symbol { name, offset } if self.covers(image) => {
                let mut search = by_name(image, name, *offset);
                let as_module = search.sites.is_empty() && *offset != 0 && self.module.is_none();
                if as_module && name.matches_module(image.path()) {
                    search.sites.extend(by_number(image, *offset));
                }
                search
            }
            Place::Address(address) if self.module.is_some() && self.covers(image) => {
                Search { sites: by_number(image, *address).into_iter().collect(), ..Search::default() }
            }
            Place::Line { file, line } if self.covers(image) => by_line(image, file, *line),
            _ => Search::default(),
        }
    }
}

/// The site at a number, where it is code of the image.
fn by_number(image: &Image, address: u64) -> Option<Site> {
    let site = Site { address, names: Vec::new(), indirect: false, by_number: true };
    image.is_code(address).then_some(site)
}

fn by_name(image: &Image, name: &Pattern, offset: u64) -> Search {
    let mut search = Search::default();
    let mut sites: BTreeMap<u64, Site> = BTreeMap::new();
    for symbol in image.symbols().iter().filter(|symbol| is_meant(symbol, name)) {
        let address = symbol.address.wrapping_add(offset);
        if !symbol.has_code() || !image.is_code(address) {
            search.data.push(symbol.name.to_string());
            continue;
        }
        let indirect = symbol.kind == Kind::Indirect && offset == 0;
        let site = sites.entry(address).or_insert_with(|| Site {
            address,
            names: Vec::new(),
            indirect,
            by_number: offset != 0,
        });
        site.indirect |= indirect;
        let shown = if offset == 0 { symbol.name.to_string() } else { format!("{}+{offset:#x}", symbol.name) };
        if !site.names.contains(&shown) {
            site.names.push(shown);
        }
    }
    search.sites = sites.into_values().collect();
    search
}

fn is_meant(symbol: &Symbol, name: &Pattern) -> bool {
    let by_glob_alone = name.is_glob() && name.text() != &*symbol.name;
    if by_glob_alone {
        // A glob means functions; stubs and labels only where it shows that it wants them.
        match symbol.kind {
            Kind::Plt if !name.text().contains('@') => return false,
            Kind::Label | Kind::Data => return false,
            _ => {}
        }
    }
    if name.matches(&symbol.name) {
        return true;
    }
    let mangled = symbol.name.starts_with("_Z") || symbol.name.starts_with("_R") || symbol.name.starts_with("__Z");
    let may = symbol.version.is_some() && name.text().contains('@') || mangled && name.may_match_mangled(&symbol.name);
    may && forms(symbol).iter().any(|form| name.matches(form))
}

fn by_line(image: &Image, file: &str, line: u64) -> Search {
    let Some(lines) = image.lines() else { return Search::default() };
    let mut found = LineSearch::default();
    lines.find(file, line, &mut found);
    let site = |address| Site { address, names: vec![format!("{file}:{line}")], indirect: false, by_number: false };
    Search {
        sites: found.addresses.into_iter().filter(|address| image.is_code(*address)).map(site).collect(),
        lines: found.lines.into_iter().collect(),
        file_known: found.file_known,
        ..Search::default()
    }
}
