//! Plans the breakpoints of a module: finds the sites of the user's locations in it.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use ubp_symbols::code::Mode;
use ubp_symbols::{Image, Module, Search, Site};

use crate::location::Location;

/// What gets breakpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sites {
    /// The locations.
    Locations,
    /// Every instruction of the functions at the locations; without locations, of the whole program with its libraries.
    Instructions,
    /// Every basic block of these functions, until it is executed; without locations, of the program's own file.
    Blocks,
}

/// The user's locations, and where they were found.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) locations: Vec<Location>,
    /// Whether each location was found in some module.
    pub(super) found: Vec<bool>,
    pub(super) sites: Sites,
    pub(super) mode_of: fn(&Image) -> Mode,
    /// Notes of searches that have not been printed yet.
    notes: Vec<String>,
    /// The results of searches, by the number of the image and the index of the location.
    searches: HashMap<(u64, usize), Rc<Search>>,
    /// The searched images; of several images at one path, the last.
    images: Vec<Rc<Image>>,
}

/// An address that gets a breakpoint.
#[derive(Debug)]
pub(super) struct Planned {
    /// The address in memory.
    pub(super) address: u64,
    /// The names by which the user asked for it.
    pub(super) names: Vec<String>,
    /// The number of the location that means it.
    pub(super) number: usize,
    /// See [`Site::indirect`].
    pub(super) indirect: bool,
    /// See [`Site::by_number`].
    pub(super) by_number: bool,
}

impl Wanted {
    pub(super) fn new(locations: Vec<Location>, sites: Sites, mode_of: fn(&Image) -> Mode) -> Wanted {
        let found = vec![false; locations.len()];
        let (notes, searches, images) = (Vec::new(), HashMap::new(), Vec::new());
        Wanted { locations, found, sites, mode_of, notes, searches, images }
    }

    /// Whether the user asked for whole modules.
    pub(super) fn is_whole_program(&self) -> bool {
        self.sites != Sites::Locations && self.locations.is_empty()
    }

    /// The searched images.
    pub(super) fn searched(&self) -> &[Rc<Image>] {
        &self.images
    }

    /// The locations that have not been found in any module.
    pub(super) fn missing(&self) -> impl Iterator<Item = &Location> {
        self.locations.iter().zip(&self.found).filter(|(_, found)| !**found).map(|(location, _)| location)
    }

    /// Returns the sites of all locations in a module.
    pub(super) fn sites_in(&mut self, module: &Module) -> Vec<Planned> {
        self.remember(&module.image);
        let mut planned = Vec::new();
        for number in 0..self.locations.len() {
            let search = self.search(number, &module.image);
            for site in &search.sites {
                self.found[number] = true;
                planned.push(Planned {
                    address: module.in_memory(site.address),
                    names: names(site, &self.locations[number]),
                    number,
                    indirect: site.indirect,
                    by_number: site.by_number,
                });
            }
        }
        planned
    }

    /// Returns the notes of searches since the last call.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn search(&mut self, number: usize, image: &Rc<Image>) -> Rc<Search> {
        let search = || {
            let search = self.locations[number].find(image);
            self.notes.extend(search.note.clone());
            Rc::new(search)
        };
        Rc::clone(self.searches.entry((image.number(), number)).or_insert_with(search))
    }

    fn remember(&mut self, image: &Rc<Image>) {
        let Some(known) = self.images.iter_mut().find(|known| known.path() == image.path()) else {
            self.images.push(Rc::clone(image));
            return;
        };
        if known.number() != image.number() {
            let old = std::mem::replace(known, Rc::clone(image)).number();
            self.searches.retain(|(number, _), _| *number != old);
        }
    }

    /// Returns the addresses in memory of all instructions, or all blocks, in parts of a module.
    pub(super) fn sites_in_parts(&mut self, module: &Module, parts: &[Range<u64>]) -> Vec<u64> {
        self.remember(&module.image);
        let all = match self.sites {
            Sites::Blocks => module.image.blocks(self.mode_of),
            _ => module.image.instructions(self.mode_of),
        };
        let inside = |part: &Range<u64>| {
            let start = all.partition_point(|address| *address < part.start);
            let end = all.partition_point(|address| *address < part.end);
            all.get(start..end).unwrap_or_default()
        };
        parts.iter().flat_map(inside).map(|address| module.in_memory(*address)).collect()
    }
}

fn names(site: &Site, location: &Location) -> Vec<String> {
    if site.names.is_empty() { vec![location.text.clone()] } else { site.names.clone() }
}

/// Returns the code of the function that contains an address in the file.
pub(super) fn function_parts(image: &Image, address: u64) -> Vec<Range<u64>> {
    let code = image.code();
    let around = code.partition_point(|range| range.end <= address);
    let around = code.get(around).filter(|range| range.contains(&address)).cloned();
    let whole = match image.symbols().holding(address) {
        Some(symbol) if symbol.size > 0 => symbol.address..symbol.address.saturating_add(symbol.size),
        _ => match around.clone() {
            Some(range) => range,
            None => return Vec::new(),
        },
    };
    let clip = |range: &Range<u64>| range.start.max(whole.start)..range.end.min(whole.end);
    let parts: BTreeSet<(u64, u64)> =
        code.iter().map(clip).filter(|part| part.start < part.end).map(|part| (part.start, part.end)).collect();
    parts.into_iter().map(|(start, end)| start..end).collect()
}
