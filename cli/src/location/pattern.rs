//! Names with wildcards.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// A name, or a glob over names; a name with glob letters in it (`operator[]`, `f(char*)`) also means itself.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    text: String,
    glob: Option<GlobMatcher>,
    /// An identifier that the linker's form of every matching name holds, too.
    identifier: Option<String>,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Pattern {
        let wild = text.contains(['*', '?', '[']);
        let glob = GlobBuilder::new(text).literal_separator(false).backslash_escape(true).build().ok();
        let glob = glob.filter(|_| wild).map(|glob| glob.compile_matcher());
        Pattern { text: text.into(), glob, identifier: identifier(text) }
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it may mean several names.
    pub(crate) fn is_glob(&self) -> bool {
        self.glob.is_some()
    }

    /// Whether a name is meant.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.text == name || self.glob.as_ref().is_some_and(|glob| glob.is_match(name))
    }

    /// Whether a readable form of the linker's `name` can be meant: a cheap test before demangling.
    pub(crate) fn may_match_mangled(&self, name: &str) -> bool {
        self.identifier.as_ref().is_none_or(|identifier| name.contains(identifier.as_str()))
    }

    /// Whether a module is meant: by path, by file name, without version, without `.so`, without `lib`.
    pub(crate) fn matches_module(&self, path: &Path) -> bool {
        let path = path.to_string_lossy();
        let file = path.rsplit('/').next().unwrap_or(&path);
        let bare = file.trim_start_matches('[').trim_end_matches(']');
        let unversioned = bare.find(".so").map_or(bare, |at| &bare[..at + 3]);
        let stem = unversioned.strip_suffix(".so").unwrap_or(unversioned);
        let unnumbered = stem.split_once('-').filter(|(_, tail)| tail.starts_with(|c: char| c.is_ascii_digit()));
        let stem_alone = unnumbered.map_or(stem, |(name, _)| name);
        let short = stem_alone.strip_prefix("lib").unwrap_or(stem_alone);
        [&*path, file, bare, unversioned, stem, stem_alone, short].iter().any(|name| self.matches(name))
    }
}

/// The longest identifier of a pattern that mangling leaves as it is.
fn identifier(text: &str) -> Option<String> {
    // Mangling abbreviates these (Itanium C++ ABI, 5.1).
    const SHORTENED: &[&str] = &[
        "std",
        "operator",
        "string",
        "basic_string",
        "allocator",
        "ostream",
        "istream",
        "iostream",
        "basic_ostream",
        "basic_istream",
        "basic_iostream",
        "char_traits",
        "char",
        "int",
        "unsigned",
        "long",
        "short",
        "bool",
        "void",
        "const",
        "float",
        "double",
        "signed",
        "wchar_t",
        "new",
        "delete",
        "static",
        "constructor",
        "vtable",
        "virtual",
        "typeinfo",
        "guard",
        "variable",
        "thunk",
        "non",
        "for",
        "anonymous",
        "namespace",
        "lambda",
        "closure",
        "impl",
    ];
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    // A set of letters ([ab]) is no identifier.
    let words = words.filter(|word| !text.contains('[') && word.len() > 1 && !SHORTENED.contains(word));
    words.max_by_key(|word| word.len()).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_meant_by_any_usual_short_form_of_its_name() {
        let path = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
        for name in ["libc", "c", "libc.so", "libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6", "lib*", "*libc.so*"] {
            assert!(Pattern::new(name).matches_module(path), "{name}");
        }
        for name in ["libcrypt", "lib", "so", "m"] {
            assert!(!Pattern::new(name).matches_module(path), "{name}");
        }
        assert!(Pattern::new("libc").matches_module(Path::new("/lib/libc-2.31.so")));
        assert!(Pattern::new("vdso").matches_module(Path::new("[vdso]")));
        assert!(Pattern::new("ld-linux-x86-64").matches_module(Path::new("/lib64/ld-linux-x86-64.so.2")));
    }

    #[test]
    fn a_name_with_glob_letters_also_means_itself() {
        assert!(Pattern::new("operator[]").matches("operator[]"));
        assert!(Pattern::new("f(char*)").matches("f(char*)"));
        assert!(Pattern::new("[").matches("["));
    }

    #[test]
    fn a_glob_crosses_the_separators_of_paths_and_namespaces() {
        assert!(Pattern::new("core::*::write").matches("core::fmt::builders::write"));
        assert!(Pattern::new("str*").matches("strlen"));
        assert!(!Pattern::new("str*").matches("mystrlen"));
    }

    #[test]
    fn the_cheap_test_keeps_every_mangled_name_that_can_match() {
        assert!(Pattern::new("std::vector<int>::push_back").may_match_mangled("_ZNSt6vectorIiSaIiEE9push_backERKi"));
        assert!(Pattern::new("ns::Type::add").may_match_mangled("_ZN2ns4Type3addEi"));
        assert!(Pattern::new("std::string*").may_match_mangled("_ZNSs6appendEPKc"));
        assert!(!Pattern::new("malloc").may_match_mangled("_ZN2ns4Type3addEi"));
    }
}
