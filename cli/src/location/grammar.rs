//! What a location on the command line says.

use super::module::Module;
use super::pattern::Pattern;

/// A place in a program, as a person writes it.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    /// As it was written.
    pub(crate) text: String,
    /// What it can mean, the likeliest first; there is one at least. What stands in a program decides: a colon may end the name of a
    /// module or of a source file, and an exclamation mark may be part of a function's name.
    pub(crate) readings: Vec<Reading>,
}

/// One thing that a location can mean.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// Only in modules of this name.
    pub(crate) module: Option<Module>,
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
        let wrong = |what: &str| format!("'{text}' is no location: {what}");
        let Splits { outside, inside } = Splits::of(text);
        if text.is_empty() || outside.iter().any(|&at| at == 0 || at + 1 == text.len()) {
            return Err(wrong("a name is missing"));
        }
        let mut readings = Vec::new();
        for at in outside.into_iter().map(Some).chain([None]).chain(inside.into_iter().map(Some)) {
            let (module, rest) = match at {
                Some(at) => (Some(Module::new(&text[..at])), &text[at + 1..]),
                None => (None, text),
            };
            let places = places(rest, module.is_some()).map_err(|error| wrong(&error))?;
            readings.extend(places.into_iter().map(|place| Reading { module: module.clone(), place }));
        }
        Ok(Location { text: text.into(), readings })
    }

    /// The address in the process that it may mean.
    pub(crate) fn address(&self) -> Option<u64> {
        self.readings.iter().find_map(|reading| match reading {
            Reading { module: None, place: Place::Address(address) } => Some(*address),
            _ => None,
        })
    }
}

/// Where the name of a module may end: at exclamation marks and single colons.
#[derive(Debug, Default)]
struct Splits {
    outside: Vec<usize>,
    /// Those that are rather part of a function's name: in brackets, or of an operator.
    inside: Vec<usize>,
}

impl Splits {
    fn of(text: &str) -> Splits {
        let mut splits = Splits::default();
        let mut open = 0usize;
        for (at, letter) in text.char_indices() {
            let (before, behind) = (&text[..at], &text[at + letter.len_utf8()..]);
            let is_path = before.ends_with(':') || behind.starts_with(':') || before.is_empty() || behind.is_empty();
            match letter {
                '<' | '(' | '[' | '{' => open += 1,
                '>' | ')' | ']' | '}' => open = open.saturating_sub(1),
                ':' if is_path => {}
                '!' if open == 0 && !before.ends_with("operator") => splits.outside.push(at),
                ':' if open == 0 => splits.outside.push(at),
                '!' | ':' if at > 0 && !behind.is_empty() => splits.inside.push(at),
                _ => {}
            }
        }
        // An exclamation mark is the surer sign.
        splits.outside.sort_by_key(|&at| !text[at..].starts_with('!'));
        splits
    }
}

/// What may stand behind the name of a module, or alone.
fn places(text: &str, of_module: bool) -> Result<Vec<Place>, String> {
    if let Some(address) = address(text) {
        return Ok(vec![Place::Address(address.map_err(|error| error.to_string())?)]);
    }
    if let Some((file, line)) = line(text) {
        return Ok(vec![Place::Line { file: file.into(), line }]);
    }
    // What a colon separates from a number is no module, but a source file.
    if of_module && text.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(Vec::new());
    }
    let whole = Place::Symbol { name: Pattern::new(text), offset: 0 };
    Ok(symbol_and_offset(text).into_iter().chain([whole]).collect())
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

fn symbol_and_offset(text: &str) -> Option<Place> {
    let (name, offset) = text.rsplit_once('+').filter(|(name, _)| !name.is_empty())?;
    let offset = match address(offset) {
        Some(number) => number.ok()?,
        None => offset.parse().ok()?,
    };
    Some(Place::Symbol { name: Pattern::new(name), offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each reading: module, and the place in short.
    fn read(text: &str) -> Vec<String> {
        let show = |reading: &Reading| {
            let place = match &reading.place {
                Place::Symbol { name, offset: 0 } => name.text().to_string(),
                Place::Symbol { name, offset } => format!("{} + {offset:#x}", name.text()),
                Place::Address(address) => format!("{address:#x}"),
                Place::Line { file, line } => format!("{file} line {line}"),
            };
            reading.module.as_ref().map_or(place.clone(), |module| format!("{place} of {}", module.text()))
        };
        Location::parse(text).unwrap().readings.iter().map(show).collect()
    }

    #[test]
    fn every_form_is_told_from_the_others() {
        for (text, expected) in [
            ("malloc", "malloc"),
            ("libc!malloc", "malloc of libc"),
            ("libc.so.6:malloc", "malloc of libc.so.6"),
            ("./my prog:ns::work(int)", "ns::work(int) of ./my prog"),
            ("libc!malloc+0x10", "malloc + 0x10 of libc"),
            ("main+16", "main + 0x10"),
            ("0x401136", "0x401136"),
            ("libc!0x9d400", "0x9d400 of libc"),
            ("libc:0x9d400", "0x9d400 of libc"),
            ("src/ls.c:1250", "src/ls.c line 1250"),
            ("prog!ls.c:12", "ls.c line 12 of prog"),
            ("[vdso]!time", "time of [vdso]"),
            ("core::fmt::write", "core::fmt::write"),
            ("a::1", "a::1"),
            ("operator+", "operator+"),
            ("operator!", "operator!"),
            ("A::operator!=(A const&)", "A::operator!=(A const&)"),
            ("<! as Debug>::fmt", "<! as Debug>::fmt"),
            ("prog!<! as Debug>::fmt", "<! as Debug>::fmt of prog"),
            ("tagged[abi:cxx11](int)", "tagged[abi:cxx11](int)"),
            ("memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14"),
        ] {
            assert_eq!(read(text)[0], expected, "{text}");
        }
    }

    #[test]
    fn what_may_be_meant_otherwise_has_other_readings() {
        assert_eq!(read("memfd:x!work"), ["work of memfd:x", "x!work of memfd", "memfd:x!work"]);
        assert_eq!(read("a+1"), ["a + 0x1", "a+1"]);
        assert_eq!(read("a(b!c"), ["a(b!c", "c of a(b"]);
        assert_eq!(read("type:.eq.T"), [".eq.T of type", "type:.eq.T"]);
    }

    #[test]
    fn a_missing_name_or_a_broken_number_is_an_error() {
        for text in ["", "libc!", "!malloc", "0x", "0xzz", "libc:0xzz"] {
            assert!(Location::parse(text).is_err(), "{text}");
        }
    }
}
