//! Locations that begin with a text.

use std::collections::BTreeSet;

use ubp_symbols::{Image, Kind, ModuleName, demangle, short_names};

/// The number of locations above which those with a common path are offered as one: `std::` in the place of all that it has.
const MANY: usize = 200;
/// The number above which nothing is offered: nobody reads that many.
const MOST: usize = 4000;
/// The words that a mangled name has in another form than the readable one (Itanium C++ ABI, 5.1.10, and names of operators).
const ABBREVIATED: &[&str] = &[
    "std",
    "allocator",
    "basic_string",
    "string",
    "istream",
    "ostream",
    "iostream",
    "operator",
    "anonymous",
    "namespace",
    "impl",
    "as",
];
/// What compilers write behind the name of a part or a copy of a function.
const COPIES: &[&str] = &[".part.", ".isra.", ".constprop.", ".cold", ".llvm.", ".lto_priv."];

/// Locations in these modules that begin with a text. The first module is the program, if the command line names one.
pub(super) fn beginning(text: &str, modules: &[Image], is_named: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Some((module, name)) = text.rsplit_once('!').filter(|(module, _)| !module.is_empty()) {
        let meant = ModuleName::new(module);
        let mut functions = BTreeSet::new();
        modules.iter().filter(|image| meant.matches(image)).for_each(|image| of(image, name, &mut functions));
        return few(functions, name).into_iter().map(|name| format!("{module}!{name}")).collect();
    }
    // Of a library all functions are offered only to those who name it.
    let searched = if text.is_empty() { modules.get(..1).filter(|_| is_named) } else { Some(modules) };
    searched.into_iter().flatten().for_each(|image| of(image, text, &mut found));
    found.extend(modules.iter().flat_map(|image| lines(image, text)));
    let mut found = few(found, text);
    found.extend(modules.iter().map(|image| format!("{}!", short(image.name()))).filter(|name| name.starts_with(text)));
    found
}

/// The name of a module's file, of a library without its version.
fn short(name: &str) -> &str {
    let end = name.find(".so").filter(|end| matches!(name.as_bytes().get(end + 3), None | Some(b'.')));
    end.map_or(name, |end| &name[..end])
}

/// Adds the functions and the static probes of a file that begin with a text.
fn of(image: &Image, text: &str, found: &mut BTreeSet<String>) {
    let hints: Vec<&str> = text
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty() && !ABBREVIATED.contains(word))
        .collect();
    for symbol in image.symbols().iter().filter(|symbol| matches!(symbol.kind, Kind::Function | Kind::Indirect)) {
        let is_mangled = symbol.name.starts_with("_Z") || symbol.name.starts_with("_R");
        if !is_mangled {
            let end = COPIES.iter().filter_map(|mark| symbol.name.find(mark)).min();
            let name = &symbol.name[..end.unwrap_or(symbol.name.len())];
            if name.starts_with(text) {
                found.insert(name.to_string());
            }
            continue;
        }
        // Mangled names have the words of the readable name.
        if hints.iter().all(|hint| symbol.name.contains(hint)) {
            let Some(readable) = demangle(symbol.name) else { continue };
            let is_wanted = |form: &String| {
                form.strip_prefix(text).is_some_and(|rest| !rest.contains([' ', '<', '(', '{']) || text.contains('<'))
            };
            found.extend(short_names(&readable).into_iter().filter(is_wanted));
        }
    }
    if text.starts_with("usdt:") {
        found.extend(image.static_probes().iter().map(|probe| probe.label()).filter(|label| label.starts_with(text)));
    }
}

/// The lines with code of a source file, for a text such as `main.c:1`.
fn lines(image: &Image, text: &str) -> Vec<String> {
    let Some((file, number)) = text.rsplit_once(':').filter(|(file, _)| file.contains('.')) else { return Vec::new() };
    if !number.bytes().all(|letter| letter.is_ascii_digit()) {
        return Vec::new();
    }
    let found = image.lines().map(|lines| lines.find(file).lines).unwrap_or_default();
    let begins = |line: &u64| line.to_string().starts_with(number);
    found.into_keys().filter(begins).map(|line| format!("{file}:{line}")).collect()
}

/// Takes locations together that continue `text` with the same path, if there are many. None, if there are too many for a reader.
fn few(found: BTreeSet<String>, text: &str) -> BTreeSet<String> {
    if found.len() <= MANY {
        return found;
    }
    let path = |name: String| {
        let rest = name.get(text.len()..)?;
        let colons = rest.find("::").map(|at| at + 2);
        let point = rest.find(['/', '.']).map(|at| at + 1);
        let end = colons.into_iter().chain(point).min().map_or(name.len(), |end| text.len() + end);
        name.get(..end).map(str::to_string)
    };
    let found: BTreeSet<String> = found.into_iter().filter_map(path).collect();
    if found.len() > MOST { BTreeSet::new() } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_locations_become_their_paths_and_few_stay() {
        let all = |count: usize| (0..count).map(|number| format!("std::vec::f{number}")).collect::<BTreeSet<_>>();
        assert_eq!(few(all(MANY), "std::"), all(MANY));
        assert_eq!(few(all(MANY + 1), "std::"), ["std::vec::".to_string()].into());
        assert_eq!(few(all(MANY + 1), "std::vec::").len(), MANY + 1);
        assert!(few(all(MOST + 1), "std::vec::").is_empty());
    }

    #[test]
    fn a_library_is_offered_without_its_version() {
        assert_eq!(
            ["libc.so.6", "libstdc++.so.6.0.30", "ls", "a.sort"].map(short),
            ["libc", "libstdc++", "ls", "a.sort"]
        );
    }
}
