//! Finds the addresses of a location in a file.

use ubp_symbols::types::Inlined;
use ubp_symbols::{Image, ModuleName, Search, by_address, by_inlined, by_line, by_name, by_probe};

use super::grammar::{Location, Meaning, Reading};

impl Location {
    /// Searches an image. The first reading with a result counts.
    pub(crate) fn find(&self, image: &Image) -> Search {
        let found = self.readings.iter().map(|reading| reading.find(image)).find(|search| !search.sites.is_empty());
        let mut search = found.unwrap_or_default();
        search.note = search.note.map(|note| format!("'{}' in {}: {note}", self.text, image.name()));
        search
    }
}

impl Location {
    /// The copies of the function in other functions of an image, if the location is a function's name. All of the debug information is read for it.
    pub(crate) fn inlined(&self, image: &Image) -> Vec<Inlined> {
        let name = |reading: &Reading| match &reading.meaning {
            Meaning::Symbol { name, offset: 0 } if !name.is_glob() && reading.covers(image) => Some(name.clone()),
            Meaning::Inlined(name) if reading.covers(image) => Some(name.clone()),
            _ => None,
        };
        self.readings.iter().find_map(name).map(|name| by_inlined(image, &name)).unwrap_or_default()
    }
}

impl Reading {
    /// Whether the reading's module is the image, or any module.
    pub(crate) fn covers(&self, image: &Image) -> bool {
        self.module.as_ref().is_none_or(|module| module.matches(image))
    }

    /// Searches an image.
    pub(crate) fn find(&self, image: &Image) -> Search {
        if !self.covers(image) {
            return Search::default();
        }
        match &self.meaning {
            Meaning::Symbol { name, offset } => {
                let mut search = by_name(image, name, *offset);
                let as_module = search.sites.is_empty() && *offset != 0 && self.module.is_none();
                if as_module && ModuleName::new(name.text()).matches(image) {
                    search.sites.extend(by_address(image, *offset));
                }
                search
            }
            Meaning::Inlined(name) => {
                let mut search = Search::default();
                for copy in by_inlined(image, name) {
                    search.sites.extend(by_address(image, copy.address).map(|mut site| {
                        site.by_number = false;
                        site
                    }));
                }
                search
            }
            Meaning::Address(address) if self.module.is_some() => {
                let mut search = Search::default();
                search.sites.extend(by_address(image, *address));
                search
            }
            Meaning::Address(_) => Search::default(),
            Meaning::Line { file, line } => by_line(image, file, *line),
            Meaning::Probe { provider, name } => by_probe(image, provider, name),
        }
    }
}
