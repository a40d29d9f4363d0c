//! Words of shell scripts.

use std::path::Path;

/// A path as a word of a script.
pub(super) fn quote(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A text as a word of a script.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_script_is_one_word() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
