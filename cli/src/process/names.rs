//! What addresses are called.

use std::rc::Rc;

use serde::Serialize;

use super::space::{Module, Space};
use crate::output::shown;
use crate::symbols::{Image, Kind, Symbol, demangle};

/// An address in words; the names are the keys of the JSON form.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Place {
    /// In short, in a form that `-b` understands.
    pub(crate) location: String,
    /// The file's path.
    pub(crate) module: Option<String>,
    pub(crate) symbol: Option<String>,
    /// Bytes from the symbol, from the module's base where there is no symbol.
    pub(crate) offset: u64,
    pub(crate) address: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// All names by which it was asked for.
    #[serde(skip)]
    pub(crate) names: Option<Rc<[String]>>,
    /// The file's own number of the address.
    #[serde(skip)]
    pub(crate) in_file: u64,
    /// The number of the image: other ones may have had the same path.
    #[serde(skip)]
    pub(crate) image: Option<u64>,
}

impl Space {
    /// What stands at an address; looked up once.
    pub(crate) fn place(&mut self, address: u64) -> Rc<Place> {
        if let Some(place) = self.places.get(&address) {
            return Rc::clone(place);
        }
        let place = Rc::new(self.describe(self.module(address), address, address));
        self.places.insert(address, Rc::clone(&place));
        place
    }

    /// What stands at a return address: the call before it decides function and line.
    pub(crate) fn caller(&self, return_address: u64) -> Place {
        let inside = return_address.wrapping_sub(1);
        self.describe(self.module(inside), return_address, inside)
    }

    /// What an address of `module`, which may be unmapped by now, is called; `inside` decides function and line.
    pub(crate) fn describe(&self, module: Option<&Module>, address: u64, inside: u64) -> Place {
        let mut place = Place {
            location: format!("{address:#x}"),
            module: None,
            symbol: None,
            offset: 0,
            address: format!("{address:#x}"),
            file: None,
            line: None,
            names: self.labels.get(&address).cloned(),
            in_file: address,
            image: None,
        };
        let Some(module) = module else { return place };
        let image = &module.image;
        let (own, own_inside) = (module.address(address), module.address(inside));
        place.module = Some(shown(image.path()));
        place.in_file = own;
        place.image = Some(image.number());
        match image.symbols().holding(own_inside) {
            Some(symbol) => {
                let label = place.names.as_ref().and_then(|names| names.first().cloned());
                let at_label = label.filter(|label| own == symbol.address && is_name(image, own, label));
                let raw = at_label.unwrap_or_else(|| symbol.name.to_string());
                let name = demangle(&raw).unwrap_or(raw);
                place.offset = own.wrapping_sub(symbol.address);
                let offset = if place.offset == 0 { String::new() } else { format!("+{:#x}", place.offset) };
                place.location = format!("{}!{name}{offset}", image.name());
                place.symbol = Some(name);
            }
            None => {
                place.offset = own;
                place.location = format!("{}!{own:#x}", image.name());
            }
        }
        if let Some((file, line)) = image.lines().and_then(|lines| lines.of(own_inside)) {
            place.file = Some(file);
            place.line = Some(line);
        }
        place
    }
}

/// Whether the code at an address of the file's has that name: by a symbol, or as what a function of that name chose.
fn is_name(image: &Image, address: u64, name: &str) -> bool {
    let chosen = |symbol: &Symbol| symbol.kind == Kind::Indirect && *symbol.name == *name;
    image.symbols().at(address).iter().any(|symbol| *symbol.name == *name) || image.symbols().iter().any(chosen)
}

/// ` at file:line` where that is known, with the last part of the path only.
pub(crate) fn source(place: &Place) -> String {
    match (&place.file, place.line) {
        (Some(file), Some(line)) => format!(" at {}:{line}", file.rsplit('/').next().unwrap_or(file)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use ubp::Pid;

    use super::*;
    use crate::location::Location;

    /// Names of one file that are tried.
    const TRIED: usize = 80;

    /// Checks that what an address of the file is called leads to it when it is given back, at functions and within them.
    fn names_lead_back(path: &Path) {
        let image = Rc::new(Image::open(path).unwrap());
        let space = Space::new(Pid(1));
        let module = Module { image: Rc::clone(&image), bias: 0x1000_0000, code: Vec::new() };
        let mut addresses: Vec<u64> = image.symbols().iter().filter(|s| s.has_code()).map(|s| s.address).collect();
        addresses.dedup();
        assert!(addresses.len() > 20, "{}: {} functions", path.display(), addresses.len());
        let every = addresses.len().div_ceil(TRIED);
        let within = |address: &u64| image.is_code(address + 1).then_some(address + 1);
        for address in addresses.iter().step_by(every).flat_map(|address| [Some(*address), within(address)]).flatten() {
            let place = module.place(address);
            let name = space.describe(Some(&module), place, place).location;
            let location = Location::parse(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
            let sites = location.find(&image).sites;
            assert!(
                sites.iter().any(|site| site.address == address),
                "{name} leads to {sites:x?} and not to {address:#x}"
            );
        }
    }

    #[test]
    fn names_of_cpp_lead_back_to_their_places() {
        let found = Command::new("g++").arg("-print-file-name=libstdc++.so.6").output();
        let path =
            found.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())).unwrap_or_default();
        if !path.is_absolute() {
            return crossing::skip("names_of_cpp_lead_back_to_their_places", "no g++, which says where its library is");
        }
        names_lead_back(&path);
    }

    #[test]
    fn names_of_rust_lead_back_to_their_places() {
        names_lead_back(&std::env::current_exe().unwrap());
    }

    #[test]
    fn names_of_go_lead_back_to_their_places() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/instances.go");
        for flags in ["-ldflags=", "-ldflags=-s -w"] {
            let program = std::env::temp_dir().join(format!("ntrace-names-{}", std::process::id()));
            let done = Command::new("go").args(["build", flags, "-o"]).arg(&program).arg(&source).output();
            if !done.is_ok_and(|done| done.status.success()) {
                return crossing::skip(
                    "names_of_go_lead_back_to_their_places",
                    "no Go, or it cannot build the program",
                );
            }
            names_lead_back(&program);
            std::fs::remove_file(&program).unwrap();
        }
    }

    #[test]
    fn names_of_the_c_library_lead_back_to_their_places() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let library = maps.lines().find(|line| line.contains("libc.so") || line.contains("libc-")).unwrap();
        names_lead_back(Path::new(&library[library.find('/').unwrap()..]));
    }
}
