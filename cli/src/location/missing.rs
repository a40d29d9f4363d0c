//! What to say of a location that was not found.

use std::rc::Rc;

use super::grammar::{Location, Place};
use crate::symbols::{Image, distance, forms};

/// Lines before and behind that are named.
const NEAR_LINES: u64 = 20;

/// A sentence that names what was searched, and what comes near.
pub(crate) fn explain(location: &Location, images: &[Rc<Image>]) -> String {
    let covered: Vec<&Rc<Image>> = images.iter().filter(|image| location.covers(image)).collect();
    let text = &location.text;
    if covered.is_empty() {
        let module = location.module.as_ref().map(|module| module.text()).unwrap_or_default();
        return format!("'{text}': no module '{module}' among {}", list(images.iter()));
    }
    let searched = list(covered.iter().copied());
    match &location.place {
        Place::Address(address) => format!("'{text}': no code at {address:#x} of {searched}"),
        Place::Symbol { name, .. } => {
            let data = covered.iter().find(|image| !location.find(image).data.is_empty());
            if let Some(image) = data {
                return format!("'{text}': a symbol of {} that has no code", image.name());
            }
            let near = near(name.text(), &covered);
            let hint = if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) };
            format!("'{text}': no such symbol in {searched}{hint}")
        }
        Place::Line { file, line } => no_line(location, file, *line, &covered, &searched),
    }
}

fn no_line(location: &Location, file: &str, line: u64, images: &[&Rc<Image>], searched: &str) -> String {
    let text = &location.text;
    if images.iter().all(|image| image.lines().is_none()) {
        return format!("'{text}': no debug information about source lines in {searched}");
    }
    let searches: Vec<_> = images.iter().map(|image| location.find(image)).collect();
    if searches.iter().all(|search| !search.file_known) {
        return format!("'{text}': no source file '{file}' in the debug information of {searched}");
    }
    let mut lines: Vec<u64> = searches.iter().flat_map(|search| search.lines.iter().copied()).collect();
    lines.sort_unstable();
    lines.dedup();
    let before = lines.iter().rev().find(|near| **near < line && line - **near <= NEAR_LINES);
    let behind = lines.iter().find(|near| **near > line && **near - line <= NEAR_LINES);
    let near: Vec<String> = before.into_iter().chain(behind).map(|near| near.to_string()).collect();
    let hint = if near.is_empty() { String::new() } else { format!("; near lines that have: {}", near.join(", ")) };
    format!("'{text}': line {line} has no code{hint}")
}

/// Up to three names that a slip of the finger makes.
fn near(name: &str, images: &[&Rc<Image>]) -> Vec<String> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let mut found: Vec<(usize, String)> = Vec::new();
    for symbol in images.iter().flat_map(|image| image.symbols().iter()).filter(|symbol| symbol.has_code()) {
        for form in forms(symbol) {
            if form.len().abs_diff(name.len()) <= limit {
                let distance = distance(name, &form);
                if distance <= limit && !found.iter().any(|(_, other)| *other == form) {
                    found.push((distance, form));
                }
            }
        }
    }
    found.sort();
    found.into_iter().take(3).map(|(_, name)| name).collect()
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
