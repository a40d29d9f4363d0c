//! Spellings of types that differ from those of the demangler.

use super::shape::{is_word, step};

/// Other spellings of types, and the spelling of the demangler: with the abbreviations of the Itanium C++ ABI (5.1.10), and without
/// redundant words.
const TYPES: &[(&str, &str)] = &[
    ("std::basic_string<char,std::char_traits<char>,std::allocator<char>>", "std::string"),
    ("std::basic_istream<char,std::char_traits<char>>", "std::istream"),
    ("std::basic_ostream<char,std::char_traits<char>>", "std::ostream"),
    ("std::basic_iostream<char,std::char_traits<char>>", "std::iostream"),
    ("decltype(nullptr)", "std::nullptr_t"),
    ("long int", "long"),
    ("short int", "short"),
];

/// Returns a name with its types as the demangler spells them: `const char*` becomes `char const*`. `name` has no needless spaces.
pub(crate) fn as_demangled(name: &str) -> String {
    let spelled = TYPES.iter().fold(name.to_string(), |name, (other, own)| {
        let mut parts = name.split(other);
        let first = parts.next().unwrap_or_default().to_string();
        parts.fold(first, |out, part| out + own + if part.starts_with(is_word) { " " } else { "" } + part)
    });
    const_behind(&spelled)
}

/// The name of `std::string` since GCC 5, without needless spaces.
const STRING: &str = "std::__cxx11::basic_string<char,std::char_traits<char>,std::allocator<char>>";

/// Returns a name with `std::string` as the libraries of GCC since version 5 name it.
pub(crate) fn with_strings(name: &str) -> String {
    let mut parts = name.split("std::string");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |out, part| out + if part.starts_with(is_word) { "std::string" } else { STRING } + part)
}

fn const_behind(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once("const ") {
        out.push_str(before);
        // `const` is before its type if no type is before `const`.
        let leads = before.is_empty() && out.is_empty() || before.ends_with(['(', ',', '<']);
        let size = if leads { type_size(behind) } else { 0 };
        let (named, others) = behind.split_at(size);
        match size {
            0 => out.push_str("const "),
            _ => out.extend([&const_behind(named), " const"]),
        }
        rest = others;
    }
    out + rest
}

/// Returns the length of a type's name with its arguments.
fn type_size(text: &str) -> usize {
    let mut size = 0;
    while let Some(length) = step(&text[size..]) {
        let part = &text[size..size + length];
        if !part.starts_with(|c: char| is_word(c) || matches!(c, ':' | '<' | ' ')) {
            break;
        }
        size += length;
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn const_stands_behind_its_type() {
        for (name, expected) in [
            ("f(const char*)", "f(char const*)"),
            (
                "f(const unsigned int&,const std::vector<const int>&)",
                "f(unsigned int const&,std::vector<int const> const&)",
            ),
            ("f(char const*)const", "f(char const*)const"),
            ("A<const B>::f()const", "A<B const>::f()const"),
            ("f(int,const )", "f(int,const )"),
        ] {
            assert_eq!(as_demangled(name), expected, "{name}");
        }
    }

    #[test]
    fn types_have_the_names_that_the_demangler_writes() {
        let name = "f(std::basic_string<char,std::char_traits<char>,std::allocator<char>>const&,unsigned long int)";
        assert_eq!(as_demangled(name), "f(std::string const&,unsigned long)");
        assert_eq!(as_demangled("nul(decltype(nullptr))"), "nul(std::nullptr_t)");
    }

    #[test]
    fn a_string_has_its_long_name_and_a_view_of_one_keeps_its_own() {
        assert_eq!(with_strings("A<std::string>::f(std::string_view)"), format!("A<{STRING}>::f(std::string_view)"));
    }
}
