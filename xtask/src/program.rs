//! A test program, and patterns of names.

use std::path::PathBuf;

/// A test program.
#[derive(PartialEq, Debug, Clone)]
pub(crate) struct Program {
    /// Its main source file in the checkout, such as `ubp/tests/attach.rs`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The folder of its package, which is its working directory.
    pub(crate) package: PathBuf,
}

/// Whether a name matches a pattern, in which `*` stands for any text.
pub(crate) fn matches(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().and_then(|part| name.strip_prefix(part));
    let rest = first.and_then(|rest| parts.try_fold(rest, |rest, part| Some(rest.split_once(part)?.1)));
    rest.is_some_and(|rest| rest.is_empty() || pattern.ends_with('*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches("tests/channel_ring.rs", "tests/channel*"));
        assert!(matches("tests/channel.rs", "tests/*.rs"));
        assert!(!matches("tests/channel.rs", "tests/chan"));
        assert!(!matches("ubp/tests/channel.rs", "tests/*"));
    }
}
