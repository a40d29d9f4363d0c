//! Which breakpoints a module gets.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use crate::code::{Insn, Mode};
use crate::location::{Location, Search, Site};
use crate::process::Module;
use crate::symbols::Image;

/// The locations that were asked for, and what became of them.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) locations: Vec<Location>,
    /// Which of them were found somewhere.
    pub(crate) found: Vec<bool>,
    pub(crate) every_instruction: bool,
    pub(crate) mode_of: fn(&Image) -> Mode,
    /// What was taken otherwise than written, or left out, and was not told yet.
    notes: Vec<String>,
    /// By the number of the image and that of the location.
    searches: HashMap<(u64, usize), Rc<Search>>,
    /// The searched images, of each path the last one.
    images: Vec<Rc<Image>>,
}

/// One place of a module that gets a breakpoint.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The address in memory.
    pub(crate) address: u64,
    /// What it was asked for as.
    pub(crate) names: Vec<String>,
    /// See [`Site::indirect`].
    pub(crate) indirect: bool,
    /// See [`Site::by_number`].
    pub(crate) by_number: bool,
}

impl Wanted {
    pub(crate) fn new(locations: Vec<Location>, every_instruction: bool, mode_of: fn(&Image) -> Mode) -> Wanted {
        let found = vec![false; locations.len()];
        let (notes, searches, images) = (Vec::new(), HashMap::new(), Vec::new());
        Wanted { locations, found, every_instruction, mode_of, notes, searches, images }
    }

    /// Whether all instructions of all modules are wanted.
    pub(crate) fn is_whole_program(&self) -> bool {
        self.every_instruction && self.locations.is_empty()
    }

    /// The images that were searched.
    pub(crate) fn searched(&self) -> &[Rc<Image>] {
        &self.images
    }

    /// Locations that were found nowhere yet.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &Location> {
        self.locations.iter().zip(&self.found).filter(|(_, found)| !**found).map(|(location, _)| location)
    }

    /// What the locations mean in a module.
    pub(crate) fn places(&mut self, module: &Module) -> Vec<Planned> {
        self.remember(&module.image);
        let mut planned = Vec::new();
        for number in 0..self.locations.len() {
            let search = self.search(number, &module.image);
            for site in &search.sites {
                self.found[number] = true;
                planned.push(Planned {
                    address: module.place(site.address),
                    names: names(site, &self.locations[number]),
                    indirect: site.indirect,
                    by_number: site.by_number,
                });
            }
        }
        planned
    }

    /// What was taken otherwise than written, or left out, since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
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

    /// The addresses in memory of all instructions in parts of a module.
    pub(crate) fn instructions(&mut self, module: &Module, parts: &[Range<u64>]) -> Vec<u64> {
        self.remember(&module.image);
        let all = module.image.instructions(self.mode_of);
        let inside = |part: &Range<u64>| {
            let start = all.partition_point(|address| *address < part.start);
            let end = all.partition_point(|address| *address < part.end);
            all.get(start..end).unwrap_or_default()
        };
        parts.iter().flat_map(inside).map(|address| module.place(*address)).collect()
    }

    /// The instruction in whose middle an address of the file's is; none where one begins, or where nothing is known.
    pub(crate) fn inside_instruction(&self, image: &Image, address: u64) -> Option<u64> {
        let all = image.instructions(self.mode_of);
        let before = *all.get(all.partition_point(|start| *start <= address).checked_sub(1)?)?;
        let insn = Insn::decode(image.bytes_at(before)?, before, (self.mode_of)(image))?;
        (before < address && address - before < insn.len as u64).then_some(before)
    }
}

fn names(site: &Site, location: &Location) -> Vec<String> {
    if site.names.is_empty() { vec![location.text.clone()] } else { site.names.clone() }
}

/// The code of the function that holds an address of the file's.
pub(crate) fn function_parts(image: &Image, address: u64) -> Vec<Range<u64>> {
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
