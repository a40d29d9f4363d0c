//! Finds the copies of functions in other functions by their names.

use super::pattern::Pattern;
use crate::elf::{Image, Names};
use crate::types::Inlined;

/// Searches the copies of a function that the compiler put into other functions, by its name. All of the debug information is read for it.
pub fn by_inlined(image: &Image, name: &Pattern) -> Vec<Inlined> {
    let is_meant = |linkage: &str| {
        let names = Names::of(linkage);
        name.is(linkage) || names.readable.iter().chain(&names.shared).any(|form| name.is(form) || name.ends(form))
    };
    image.types().map(|types| types.inlined(&is_meant)).unwrap_or_default()
}
