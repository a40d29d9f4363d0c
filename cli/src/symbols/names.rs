//! Names of functions as the linker and as people write them.

use cpp_demangle::DemangleOptions;

/// The readable form of a linker's name; `None` where it is readable already.
pub(crate) fn demangle(name: &str) -> Option<String> {
    let may_be_rust = name.starts_with("_R") || name.starts_with("_ZN") || name.starts_with("__R");
    if may_be_rust && let Ok(rust) = rustc_demangle::try_demangle(name) {
        return Some(format!("{rust:#}"));
    }
    if !name.starts_with("_Z") && !name.starts_with("__Z") {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    symbol.demangle().ok()
}

/// A C++ name without its parameters and return type.
pub(crate) fn without_parameters(name: &str) -> Option<String> {
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    symbol.demangle_with_options(&DemangleOptions::new().no_params().no_return_type()).ok()
}

/// The forms under which a function can be asked for, the linker's own first.
pub(crate) fn forms(name: &str) -> Vec<String> {
    let mut forms = vec![name.to_string()];
    if let Some(readable) = demangle(name) {
        if name.starts_with("_Z") || name.starts_with("__Z") {
            forms.extend(without_parameters(name).filter(|short| *short != readable));
        }
        forms.push(readable);
    }
    forms
}

/// How far two names are from each other (Levenshtein), for hints.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rust_name_loses_its_hash() {
        assert_eq!(demangle("_ZN4core3fmt5write17h0123456789abcdefE").as_deref(), Some("core::fmt::write"));
    }

    #[test]
    fn a_cpp_name_can_be_asked_for_with_and_without_parameters() {
        assert_eq!(forms("_ZN2ns4Type3addEi"), ["_ZN2ns4Type3addEi", "ns::Type::add", "ns::Type::add(int)"]);
    }

    #[test]
    fn a_c_name_has_one_form() {
        assert_eq!(forms("malloc"), ["malloc"]);
    }

    #[test]
    fn distance_counts_single_changes() {
        assert_eq!(distance("malloc", "maloc"), 1);
        assert_eq!(distance("malloc", "malloc"), 0);
        assert_eq!(distance("", "abc"), 3);
    }
}
