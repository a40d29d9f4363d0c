//! Patterns for names.

use std::iter;

use regex::Regex;

use crate::elf::{as_demangled, with_strings};

/// A name, or a glob: `*` matches any characters, `?` matches one character, and `\` quotes the next character. All other characters,
/// including brackets and braces, match themselves. Spaces count only between words.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    /// The exact names: the text, the text without quotes, and the text with types as the demangler spells them, and as libraries name strings.
    literal: Vec<String>,
    /// Each matching name contains at least one of these words.
    hints: Vec<String>,
    glob: Option<Regex>,
}

impl Pattern {
    /// Returns the pattern with a text. Every text is one.
    pub fn new(text: &str) -> Pattern {
        let squeezed: String = squeezed(text).collect();
        let (mut regex, mut unquoted, mut wild) = (String::from("(?s)^"), String::new(), false);
        let mut letters = squeezed.chars();
        while let Some(letter) = letters.next() {
            let (meant, quoted) = match letter {
                '\\' => letters.next().map_or(('\\', true), |quoted| (quoted, true)),
                other => (other, false),
            };
            unquoted.push(meant);
            match meant {
                '*' | '?' if !quoted => {
                    wild = true;
                    regex.push_str(if meant == '*' { ".*" } else { "." });
                }
                _ => regex.push_str(&regex::escape(meant.encode_utf8(&mut [0; 4]))),
            }
        }
        regex.push('$');
        let strings = format!("(?:std::string|{})", regex::escape(&with_strings("std::string")));
        let regex = with_strings(&regex).replace(&with_strings("std::string"), &strings);
        // A pattern that is too long for a regular expression is longer than any name, and matches itself.
        let glob = wild.then(|| Regex::new(&regex).ok()).flatten();
        let demangled = self::squeezed(&as_demangled(&unquoted)).collect::<String>();
        let mut literal = vec![with_strings(&demangled), demangled, unquoted, squeezed];
        literal.dedup();
        let hints = literal.iter().map(|literal| hint(literal)).collect();
        Pattern { text: text.into(), literal, hints, glob }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the pattern may match several names.
    pub fn is_glob(&self) -> bool {
        self.glob.is_some()
    }

    /// Whether the pattern equals a name. Names may contain the characters of a glob (`operator*`, `f(char*)`, `main.(*T).Method`).
    pub fn is(&self, name: &str) -> bool {
        self.literal.iter().any(|literal| squeezed(name).eq(literal.chars()))
    }

    /// Whether the pattern equals the end of a name behind the path of a namespace, crate or package. A single word does not.
    pub fn ends(&self, name: &str) -> bool {
        let last = |text: &str| text.trim_end().chars().next_back();
        if self.is_word() || last(name) != last(&self.text) {
            return false;
        }
        let boundaries =
            name.match_indices("::").map(|(at, _)| at + 2).chain(name.match_indices('/').map(|(at, _)| at + 1));
        boundaries.into_iter().any(|at| self.is(&name[at..]))
    }

    /// Whether the pattern matches a name.
    pub fn matches(&self, name: &str) -> bool {
        self.is(name) || self.glob.as_ref().is_some_and(|glob| glob.is_match(&squeezed(name).collect::<String>()))
    }

    /// Whether the pattern is a single word.
    pub fn is_word(&self) -> bool {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !self.text.is_empty() && self.text.bytes().all(is_word)
    }

    /// Whether the pattern may match a name of the symbol whose readable name is `readable`. This cheap test saves the computation of all
    /// names, which consist of the words of the readable name.
    pub fn may_mean(&self, readable: &str) -> bool {
        self.hints.iter().any(|hint| readable.contains(hint.as_str()))
    }
}

/// Returns the longest word of `text`. Each name that `text` matches contains it.
fn hint(text: &str) -> String {
    // The version follows the name.
    let name = text.split_once('@').map_or(text, |(name, _)| name);
    let words = name.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.max_by_key(|word| word.len()).unwrap_or_default().to_string()
}

/// Returns a name without meaningless spaces: `> >` is `>>`, and `f( int )` is `f(int)`.
fn squeezed(name: &str) -> impl Iterator<Item = char> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut letters = name.chars().peekable();
    let mut last = None;
    iter::from_fn(move || {
        let mut letter = letters.next()?;
        if letter.is_whitespace() {
            while letters.next_if(|next| next.is_whitespace()).is_some() {}
            if last.is_some_and(is_word) && letters.peek().copied().is_some_and(is_word) {
                letter = ' ';
            } else {
                letter = letters.next()?;
            }
        }
        last = Some(letter);
        last
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_star_and_question_mark_are_wild() {
        assert!(Pattern::new("r::main::{closure*").matches("r::main::{closure#0}"));
        assert!(Pattern::new("Fo::operator[]*").matches("Fo::operator[](int)"));
        assert!(Pattern::new("*tagged[abi:cxx11]*").matches("std::string tagged[abi:cxx11](int)"));
        assert!(Pattern::new("main.Map[*").matches("main.Map[go.shape.int]"));
        assert!(!Pattern::new("[ab]*").matches("a1"));
        assert!(!Pattern::new("{a,b}*").matches("a1"));
        assert!(Pattern::new("g?del").matches("gödel"));
        assert!(!Pattern::new("str?").matches("str"));
    }

    #[test]
    fn a_name_with_the_letters_of_a_glob_is_itself_and_may_be_quoted() {
        for text in ["operator*", "f(char*)", r"operator\*", r"f(char\*)"] {
            let name = text.replace('\\', "");
            assert!(Pattern::new(text).is(&name) && Pattern::new(text).matches(&name), "{text}");
        }
        assert!(Pattern::new("f(char*)").matches("f(char, int)"));
        assert!(!Pattern::new(r"f(char\*)").matches("f(char, int)"));
        assert!(!Pattern::new(r"f(char\*)").is_glob());
        assert!(Pattern::new(r"a\\b").is(r"a\b") && Pattern::new(r"a\b").is(r"a\b") && Pattern::new("a\\").is("a\\"));
    }

    #[test]
    fn spaces_count_between_words_only() {
        let name = "std::vector<int, std::allocator<int> >::push_back(int const&)";
        assert!(Pattern::new("std::vector<int,std::allocator<int>>::push_back( int const & )").is(name));
        assert!(Pattern::new("operator  new").is("operator new"));
        assert!(!Pattern::new("operatornew").is("operator new"));
        assert!(Pattern::new("<u32 as  r::Tr>::go").is("<u32 as r::Tr>::go"));
        assert!(Pattern::new("over(const char *)").is("over(char const*)"));
    }

    #[test]
    fn a_string_of_cpp_has_its_short_name_or_its_long_one() {
        let name = "Shelf<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >::take(int)";
        for text in ["Shelf<std::string>::take(int)", "Shelf<std::string>*", "Shelf<std::string >::ta*", "*::take*"] {
            let pattern = Pattern::new(text);
            assert!(pattern.matches(name) && pattern.may_mean(name), "{text}");
            assert!(pattern.matches("Shelf<std::string>::take(int)"), "{text}");
        }
        for text in ["Shelf<std::string_view>::take(int)", "Shelf<std::string_view>*"] {
            assert!(!Pattern::new(text).matches(name), "{text}");
        }
    }

    #[test]
    fn a_path_may_lack_its_beginning_and_a_word_may_not() {
        assert!(Pattern::new("foo::<usize>").ends("r::app::foo::<usize>"));
        assert!(Pattern::new("Type::add").ends("ns::Type::add"));
        assert!(Pattern::new("bar.(*T).M").ends("example.com/foo/bar.(*T).M"));
        for (text, name) in
            [("add", "ns::Type::add"), ("Type::add", "ns::OtherType::add"), ("T*::add", "ns::Type::add")]
        {
            assert!(!Pattern::new(text).ends(name), "{text}");
        }
    }

    #[test]
    fn a_glob_crosses_the_separators_of_paths_and_namespaces() {
        assert!(Pattern::new("core::*::write").matches("core::fmt::builders::write"));
        assert!(Pattern::new("str*").matches("strlen"));
        assert!(!Pattern::new("str*").matches("mystrlen"));
        assert!(Pattern::new("a*b").matches("a\nb"));
    }

    #[test]
    fn the_cheap_test_keeps_every_name_that_can_match() {
        for (text, readable) in [
            ("get<true>", "int get<true>()"),
            ("std::string::append", "std::string::append(char const*)"),
            ("f(const std::basic_string<char,std::char_traits<char>,std::allocator<char>>&)", "f(std::string const&)"),
            ("memcpy@GLIBC_2.14", "memcpy"),
            ("s?rl*n", "strlen"),
            ("r::Go::go", "<u32 as r::Go>::go"),
            ("*", "main"),
        ] {
            assert!(Pattern::new(text).may_mean(readable), "{text}");
        }
        assert!(!Pattern::new("ns::Type::add").may_mean("ns::Other::sub(int)"));
    }
}
