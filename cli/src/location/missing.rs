//! Explains why a location was not found.

use std::collections::BTreeSet;
use std::rc::Rc;

use ubp_symbols::{Image, Pattern};

use super::grammar::{INLINED, Location, Meaning, Reading};
use super::near::near;

/// Returns a sentence that names the searched modules, and similar names.
pub(crate) fn explain(location: &Location, images: &[Rc<Image>]) -> String {
    let covered = |reading: &Reading| images.iter().filter(|image| reading.covers(image)).collect::<Vec<_>>();
    let text = &location.text;
    // The first reading is the likeliest. A reading whose module exists takes precedence.
    let with_module = |reading: &&Reading| reading.module.is_some() && !covered(reading).is_empty();
    let Some(reading) = location.readings.iter().find(with_module).or(location.readings.first()) else {
        return format!("'{text}': not a location");
    };
    let covered = covered(reading);
    if covered.is_empty() {
        let module = reading.module.as_ref().map(|module| module.text()).unwrap_or_default();
        return format!("'{text}': no module '{module}' among {}", list(images.iter()));
    }
    let searched = list(covered.iter().copied());
    match &reading.meaning {
        Meaning::Address(address) => format!("'{text}': no code at {address:#x} of {searched}"),
        Meaning::Symbol { name, .. } => {
            let data = covered.iter().find(|image| !reading.find(image).data.is_empty());
            if let Some(image) = data {
                return format!("'{text}': the symbol in {} has no code", image.name());
            }
            format!("'{text}': no such symbol in {searched}{}{}", hint(name, &covered, images), stripped(&covered))
        }
        Meaning::Inlined(name) => {
            let bare = covered.first().filter(|image| image.types().is_none());
            let bare = bare.map(|image| format!("; {} has no debug information", image.name())).unwrap_or_default();
            format!("'{text}': no copy of '{}' in another function of {searched}{bare}", name.text())
        }
        Meaning::Probe { .. } => format!("'{text}': {}", no_probe(&covered, &searched)),
        Meaning::Line { file, line } => no_line(reading, text, (file, *line), &covered, &searched),
    }
}

/// Returns a sentence as [`explain`] does, which names the copies of the function in others of the program. All of the program's debug information
/// is read for it.
pub(crate) fn explain_with_copies(location: &Location, images: &[Rc<Image>]) -> String {
    let text = &location.text;
    match images.first().filter(|image| !location.inlined(image).is_empty()) {
        Some(image) => {
            let name = image.name();
            format!("'{text}': {name} has only copies in other functions; '{text}{INLINED}' means all of them")
        }
        None => explain(location, images),
    }
}

/// Returns similar names in the searched modules, or the module that has the symbol.
fn hint(name: &Pattern, covered: &[&Rc<Image>], images: &[Rc<Image>]) -> String {
    if name.is_glob() {
        return String::new();
    }
    let is_there = |image: &Rc<Image>| image.symbols().iter().any(|symbol| symbol.has_code() && name.is(symbol.name));
    if let Some(image) = images.iter().find(|image| is_there(image)) {
        return format!("; it is in {}", image.name());
    }
    let near = near(name.text(), covered);
    if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) }
}

/// Names the program, or the first of the searched libraries, if the names of its own functions are gone.
fn stripped(covered: &[&Rc<Image>]) -> String {
    match covered.first().filter(|image| !image.symbols().is_whole()) {
        Some(image) => {
            let name = image.name();
            format!(
                "; {name} is stripped: take an address of its file ({name}!0x1234), or install its debug information"
            )
        }
        None => String::new(),
    }
}

/// The labels of static probes that a message lists at most.
const LISTED: usize = 6;

fn no_probe(images: &[&Rc<Image>], searched: &str) -> String {
    let labels: BTreeSet<String> =
        images.iter().flat_map(|image| image.static_probes()).map(|probe| probe.label()).collect();
    let more = labels.len().saturating_sub(LISTED);
    let first: Vec<String> = labels.into_iter().take(LISTED).collect();
    match (first.is_empty(), more) {
        (true, _) => format!("no static probe in {searched}"),
        (false, 0) => format!("no such static probe in {searched}; there are {}", first.join(", ")),
        (false, more) => format!(
            "no such static probe in {searched}; there are {}, and {more} more: ntrace list 'usdt:*:*'",
            first.join(", ")
        ),
    }
}

fn no_line(reading: &Reading, text: &str, (file, line): (&str, u64), images: &[&Rc<Image>], searched: &str) -> String {
    if images.iter().all(|image| image.lines().is_none()) {
        return format!("'{text}': no debug information about source lines in {searched}");
    }
    let searches: Vec<_> = images.iter().map(|image| reading.find(image)).collect();
    if searches.iter().all(|search| !search.file_known) {
        return format!("'{text}': no source file '{file}' in the debug information of {searched}");
    }
    let last = searches.iter().filter_map(|search| search.last_line).max();
    let hint = last.map(|last| format!("; the last line with code is {last}")).unwrap_or_default();
    format!("'{text}': neither line {line} nor a later line has code{hint}")
}

fn list<'a>(images: impl ExactSizeIterator<Item = &'a Rc<Image>>) -> String {
    let rest = images.len().saturating_sub(8);
    let names: Vec<&str> = images.take(8).map(|image| image.name()).collect();
    match (names.is_empty(), rest) {
        (true, _) => "nothing".into(),
        (false, 0) => names.join(", "),
        (false, rest) => format!("{} and {rest} more", names.join(", ")),
    }
}
