//! Finds names that are similar to a name that was not found.

use std::rc::Rc;

use ubp_symbols::{Image, Kind, short_names};

/// The largest number of names that are returned.
const MOST: usize = 3;

/// How similar a name is, the most similar first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// The name is equal, but in a namespace, crate, package or type.
    Inside,
    /// The number of characters that differ, are missing, are added, or are swapped.
    Slips(usize),
}

/// Returns the names of functions that are most similar to `name`.
pub(super) fn near(name: &str, images: &[&Rc<Image>]) -> Vec<String> {
    let mut found: Vec<(Nearness, usize, String)> = Vec::new();
    for (symbol, readable) in images.iter().flat_map(|image| image.symbols().readable()) {
        if !matches!(symbol.kind, Kind::Function | Kind::Indirect) {
            continue;
        }
        let Some((nearness, form)) = nearest(name, readable) else { continue };
        if !found.iter().any(|(.., known)| *known == form) {
            found.push((nearness, form.len(), form));
        }
    }
    found.sort();
    found.into_iter().take(MOST).map(|(.., name)| name).collect()
}

/// Returns the most similar of a symbol's names.
fn nearest(name: &str, readable: &str) -> Option<(Nearness, String)> {
    let forms = short_names(readable).into_iter().chain([readable.to_string()]);
    forms.filter_map(|form| Some((nearness(name, &form)?, form))).min_by_key(|(nearness, form)| (*nearness, form.len()))
}

fn nearness(name: &str, form: &str) -> Option<Nearness> {
    if form.strip_suffix(name).is_some_and(|path| path.ends_with("::") || path.ends_with('.')) {
        return Some(Nearness::Inside);
    }
    // At most a third of the characters, and at most three, may differ. With more, every name would be similar.
    let limit = (name.chars().count() / 3).min(3);
    if form.len().abs_diff(name.len()) > 4 * limit {
        return None;
    }
    let slips = strsim::osa_distance(&name.to_lowercase(), &form.to_lowercase());
    (slips <= limit).then_some(Nearness::Slips(slips))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_a_character_changed_missing_added_or_swapped() {
        for (name, form, slips) in
            [("midle", "middle", 1), ("maloc", "malloc", 1), ("mlaloc", "malloc", 1), ("Malloc", "malloc", 0)]
        {
            assert_eq!(nearness(name, form), Some(Nearness::Slips(slips)), "{name} {form}");
        }
    }

    #[test]
    fn a_name_is_near_to_itself_in_a_namespace_and_to_nothing_that_only_ends_alike() {
        assert_eq!(nearness("add", "ns::Type::add"), Some(Nearness::Inside));
        assert_eq!(nearness("Push", "main.(*List).Push"), Some(Nearness::Inside));
        assert_eq!(nearness("add", "thread_add"), None);
    }

    #[test]
    fn a_name_with_too_many_slips_is_not_near() {
        for (name, form) in [("xy", "xz"), ("foo", "bar"), ("nosuch", "search"), ("work", "wait")] {
            assert_eq!(nearness(name, form), None, "{name} {form}");
        }
    }
}
