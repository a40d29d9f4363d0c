//! What a location on the command line says.

use super::pattern::Pattern;

/// A place in a program, as a person writes it.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    /// As it was written.
    pub(crate) text: String,
    /// Only in modules of this name.
    pub(crate) module: Option<Pattern>,
    /// Where.
    pub(crate) place: Place,
}

/// Where in a module.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// So many bytes from a symbol.
    Symbol { name: Pattern, offset: u64 },
    /// An address: the module's own numbering where a module is named, else the process'.
    Address(u64),
    /// The beginning of a source line.
    Line { file: String, line: u64 },
}

impl Location {
    /// Reads a location.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn parse(text: &str) -> Result<Location, String> {
        let (module, rest) = match split_module(text) {
            Some((module, rest)) => (Some(Pattern::new(module)), rest),
            None => (None, text),
        };
        if rest.is_empty() || module.as_ref().is_some_and(|module| module.text().is_empty()) {
            return Err(format!("'{text}' is no location: a name is missing"));
        }
        let place = match address(rest) {
            Some(address) => Place::Address(address.map_err(|error| format!("'{text}' is no location: {error}"))?),
            None => match line(rest) {
                Some((file, line)) => Place::Line { file: file.into(), line },
                None => symbol(rest),
            },
        };
        Ok(Location { text: text.into(), module, place })
    }
}

/// The module before `!`; an exclamation mark inside a readable name (`<! as Debug>`) is none.
fn split_module(text: &str) -> Option<(&str, &str)> {
    let (module, rest) = text.split_once('!')?;
    (!module.contains(['<', ' ', '('])).then_some((module, rest))
}

fn address(text: &str) -> Option<Result<u64, std::num::ParseIntError>> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    Some(u64::from_str_radix(digits, 16))
}

fn line(text: &str) -> Option<(&str, u64)> {
    let (file, line) = text.rsplit_once(':')?;
    // The second colon of `a::1` belongs to a path of names.
    if file.is_empty() || file.ends_with(':') {
        return None;
    }
    line.parse().ok().map(|line| (file, line))
}

fn symbol(text: &str) -> Place {
    let offset = text.rsplit_once('+').and_then(|(name, offset)| {
        let offset = match address(offset) {
            Some(number) => number.ok()?,
            None => offset.parse().ok()?,
        };
        (!name.is_empty()).then_some((name, offset))
    });
    match offset {
        Some((name, offset)) => Place::Symbol { name: Pattern::new(name), offset },
        None => Place::Symbol { name: Pattern::new(text), offset: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Module, and the place in short.
    fn read(text: &str) -> (Option<String>, String) {
        let location = Location::parse(text).unwrap();
        let place = match location.place {
            Place::Symbol { name, offset } => format!("{} + {offset:#x}", name.text()),
            Place::Address(address) => format!("{address:#x}"),
            Place::Line { file, line } => format!("{file} line {line}"),
        };
        (location.module.map(|module| module.text().to_string()), place)
    }

    #[test]
    fn every_form_is_told_from_the_others() {
        let module = |name: &str| Some(name.to_string());
        assert_eq!(read("malloc"), (None, "malloc + 0x0".into()));
        assert_eq!(read("libc!malloc"), (module("libc"), "malloc + 0x0".into()));
        assert_eq!(read("libc!malloc+0x10"), (module("libc"), "malloc + 0x10".into()));
        assert_eq!(read("main+16"), (None, "main + 0x10".into()));
        assert_eq!(read("0x401136"), (None, "0x401136".into()));
        assert_eq!(read("libc!0x9d400"), (module("libc"), "0x9d400".into()));
        assert_eq!(read("src/ls.c:1250"), (None, "src/ls.c line 1250".into()));
        assert_eq!(read("core::fmt::write"), (None, "core::fmt::write + 0x0".into()));
        assert_eq!(read("a::1"), (None, "a::1 + 0x0".into()));
        assert_eq!(read("operator+"), (None, "operator+ + 0x0".into()));
        assert_eq!(read("<! as Debug>::fmt"), (None, "<! as Debug>::fmt + 0x0".into()));
        assert_eq!(read("memcpy@@GLIBC_2.14"), (None, "memcpy@@GLIBC_2.14 + 0x0".into()));
    }

    #[test]
    fn a_missing_name_or_a_broken_number_is_an_error() {
        for text in ["", "libc!", "!malloc", "0x", "0xzz"] {
            assert!(Location::parse(text).is_err(), "{text}");
        }
    }
}
