//! Finds the copies of functions in other functions by their names.

use super::pattern::Pattern;
use crate::elf::{Image, Names};
use crate::types::Inlined;

/// Searches the copies of functions that the compiler put into other functions, by a name or a glob. All of the debug information is read for it.
pub fn by_inlined(image: &Image, name: &Pattern) -> Vec<Inlined> {
    let is_meant = |linkage: &str| {
        let names = Names::of(linkage);
        let mut forms = names.readable.iter().chain(&names.shared);
        let is_by_glob = |form: &str| name.is_glob() && name.matches(form);
        name.is(linkage)
            || is_by_glob(linkage)
            || forms.any(|form| name.is(form) || name.ends(form) || is_by_glob(form))
    };
    image.types().map(|types| types.inlined(&is_meant)).unwrap_or_default()
}
