//! The description of an address: module, symbol, offset and source line.

use std::rc::Rc;

use serde::Serialize;
use ubp_symbols::{Image, Kind, Module, Place, StaticProbe, Symbol, demangle};

use crate::output::shown;

/// The description of an address. The field names are the keys of the JSON form.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Description {
    /// The short form, which `-b` accepts.
    pub(crate) location: String,
    /// The path of the module's file.
    pub(crate) module: Option<String>,
    pub(crate) symbol: Option<String>,
    /// The distance in bytes from the symbol, or from the module's base if there is no symbol.
    pub(crate) offset: u64,
    /// The static probe, if the user asked for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) probe: Option<String>,
    pub(crate) address: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// All names by which the user asked for a breakpoint at the address.
    #[serde(skip)]
    pub(crate) names: Option<Rc<[String]>>,
    /// The address in the file.
    #[serde(skip)]
    pub(crate) in_file: u64,
    /// The number of the image. Several images may have had the same path.
    #[serde(skip)]
    pub(crate) image: Option<u64>,
}

/// Describes an address in memory that is in `module`. `names` are those by which the user asked for it. The address `inside` determines
/// the function and the line.
pub(crate) fn describe(module: Option<&Module>, names: Option<Rc<[String]>>, address: u64, inside: u64) -> Description {
    let mut description = Description {
        location: format!("{address:#x}"),
        module: None,
        symbol: None,
        offset: 0,
        probe: None,
        address: format!("{address:#x}"),
        file: None,
        line: None,
        names,
        in_file: address,
        image: None,
    };
    let Some(module) = module else { return description };
    let image = &module.image;
    let Place { symbol, offset, line, .. } = module.describe(address, inside);
    description.module = Some(shown(image.path()));
    description.in_file = module.in_file(address);
    description.image = Some(image.number());
    description.offset = offset;
    (description.file, description.line) = line.unzip();
    match symbol {
        Some(symbol) => {
            let label = description.names.as_ref().and_then(|names| names.first().cloned());
            let raw = label.filter(|label| offset == 0 && is_name(image, description.in_file, label)).unwrap_or(symbol);
            let name = demangle(&raw).unwrap_or(raw);
            let offset = if offset == 0 { String::new() } else { format!("+{offset:#x}") };
            description.location = format!("{}!{name}{offset}", image.name());
            description.symbol = Some(name);
        }
        None => description.location = format!("{}!{:#x}", image.name(), description.in_file),
    }
    let names = description.names.as_deref().unwrap_or_default();
    if let Some(probe) = static_probe(image, description.in_file, names) {
        description.location = format!("{}!{}", image.name(), probe.label());
        description.probe = Some(probe.label());
    }
    description
}

/// The static probe at an address in the file that has one of these names.
pub(super) fn static_probe<'a>(image: &'a Image, address: u64, names: &[String]) -> Option<&'a StaticProbe> {
    if !names.iter().any(|name| name.starts_with("usdt:")) {
        return None;
    }
    image.static_probes().iter().find(|probe| probe.address == address && names.contains(&probe.label()))
}

/// Whether a symbol at an address in the file has that name, or an indirect function of that name may have selected it.
fn is_name(image: &Image, address: u64, name: &str) -> bool {
    let chosen = |symbol: Symbol<'_>| symbol.kind == Kind::Indirect && symbol.name == name;
    image.symbols().at(address).any(|symbol| symbol.name == name) || image.symbols().iter().any(chosen)
}

/// Returns ` at file:line` with the last component of the path, or nothing if the line is unknown.
pub(crate) fn source(description: &Description) -> String {
    match (&description.file, description.line) {
        (Some(file), Some(line)) => format!(" at {}:{line}", file.rsplit('/').next().unwrap_or(file)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;
    use crate::location::Location;

    /// The number of names of one file that the test tries.
    const TRIED: usize = 80;

    /// Checks that ntrace finds an address by the location that it prints for it, at the start of functions and inside them.
    fn names_lead_back(path: &Path) {
        let image = Rc::new(Image::open(path).unwrap());
        let module = Module::new(Rc::clone(&image), 0x1000_0000, Vec::new());
        let mut addresses: Vec<u64> = image.symbols().iter().filter(|s| s.has_code()).map(|s| s.address).collect();
        addresses.dedup();
        assert!(addresses.len() > 20, "{}: {} functions", path.display(), addresses.len());
        let every = addresses.len().div_ceil(TRIED);
        let within = |address: &u64| image.is_code(address + 1).then_some(address + 1);
        for address in addresses.iter().step_by(every).flat_map(|address| [Some(*address), within(address)]).flatten() {
            let in_memory = module.in_memory(address);
            let name = describe(Some(&module), None, in_memory, in_memory).location;
            let location = Location::parse(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
            let sites = location.find(&image).sites;
            assert!(
                sites.iter().any(|site| site.address == address),
                "{name} leads to {sites:x?} and not to {address:#x}"
            );
        }
    }

    #[test]
    fn names_of_cpp_lead_back_to_their_addresses() {
        let found = Command::new("g++").arg("-print-file-name=libstdc++.so.6").output();
        let path =
            found.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())).unwrap_or_default();
        if !path.is_absolute() {
            return crossing::skip(
                "names_of_cpp_lead_back_to_their_addresses",
                "no g++, which says where its library is",
            );
        }
        names_lead_back(&path);
    }

    #[test]
    fn names_of_rust_lead_back_to_their_addresses() {
        names_lead_back(&std::env::current_exe().unwrap());
    }

    #[test]
    fn names_of_go_lead_back_to_their_addresses() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/instances.go");
        for flags in ["-ldflags=", "-ldflags=-s -w"] {
            let program = std::env::temp_dir().join(format!("ntrace-names-{}", std::process::id()));
            let done = Command::new("go").args(["build", flags, "-o"]).arg(&program).arg(&source).output();
            if !done.is_ok_and(|done| done.status.success()) {
                return crossing::skip(
                    "names_of_go_lead_back_to_their_addresses",
                    "no Go, or it cannot build the program",
                );
            }
            names_lead_back(&program);
            std::fs::remove_file(&program).unwrap();
        }
    }

    #[test]
    fn names_of_the_c_library_lead_back_to_their_addresses() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let library = maps.lines().find(|line| line.contains("libc.so") || line.contains("libc-")).unwrap();
        names_lead_back(Path::new(&library[library.find('/').unwrap()..]));
    }
}
