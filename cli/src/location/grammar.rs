//! The syntax of locations.

use ubp_symbols::{ModuleName, Pattern};

/// What follows the name of a function whose copies in others are meant.
pub(super) const INLINED: &str = "@inlined";

/// A location on the command line.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    /// The text on the command line.
    pub(crate) text: String,
    /// The possible readings, the likeliest first. There is at least one. The program's modules and symbols decide between them: a colon
    /// may end the name of a module or of a source file, and an exclamation mark may be part of a function's name.
    pub(crate) readings: Vec<Reading>,
}

/// One reading of a location.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// The module to search. `None` is all modules.
    pub(crate) module: Option<ModuleName>,
    /// What to search for.
    pub(crate) meaning: Meaning,
}

/// What a reading searches for in a module.
#[derive(Debug, Clone)]
pub(crate) enum Meaning {
    /// The symbol, plus an offset in bytes.
    Symbol { name: Pattern, offset: u64 },
    /// The copies of functions in others.
    Inlined(Pattern),
    /// An address: in the module's file if the reading names a module, else in memory.
    Address(u64),
    /// The start of a source line.
    Line { file: String, line: u64 },
    /// Static probes, by their providers and names.
    Probe { provider: Pattern, name: Pattern },
}

impl Location {
    /// Parses a location.
    ///
    /// # Errors
    /// The text is no location. The error says why.
    pub(crate) fn parse(text: &str) -> Result<Location, String> {
        let wrong = |what: &str| format!("'{text}' is not a location: {what}");
        let Splits { outside, inside } = Splits::of(text);
        if text.is_empty() || outside.iter().any(|&at| at == 0 || at + 1 == text.len()) {
            return Err(wrong("a name is missing"));
        }
        let mut readings = Vec::new();
        for at in outside.into_iter().map(Some).chain([None]).chain(inside.into_iter().map(Some)) {
            let (module, rest) = match at {
                Some(at) => (Some(ModuleName::new(&text[..at])), &text[at + 1..]),
                None => (None, text),
            };
            if let Some(meaning) = probe(rest) {
                readings.insert(0, Reading { module, meaning });
                continue;
            }
            let meanings = meanings(rest, module.is_some()).map_err(|error| wrong(&error))?;
            readings.extend(meanings.into_iter().map(|meaning| Reading { module: module.clone(), meaning }));
        }
        Ok(Location { text: text.into(), readings })
    }

    /// The address in memory, if the location can mean one.
    pub(crate) fn address(&self) -> Option<u64> {
        self.readings.iter().find_map(|reading| match reading {
            Reading { module: None, meaning: Meaning::Address(address) } => Some(*address),
            _ => None,
        })
    }
}

/// The positions at which a module's name may end: exclamation marks and single colons.
#[derive(Debug, Default)]
struct Splits {
    outside: Vec<usize>,
    /// Positions that are more likely inside a function's name: in brackets, or in the name of an operator.
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
        // An exclamation mark is the stronger sign.
        splits.outside.sort_by_key(|&at| !text[at..].starts_with('!'));
        splits
    }
}

/// Parses what follows the name of a module, or a location without a module.
fn meanings(text: &str, of_module: bool) -> Result<Vec<Meaning>, String> {
    if let Some(address) = address(text) {
        return Ok(vec![Meaning::Address(address.map_err(|error| error.to_string())?)]);
    }
    if let Some((file, line)) = line(text) {
        return Ok(vec![Meaning::Line { file: file.into(), line }]);
    }
    // A name that a colon separates from a number is a source file and not a module.
    if of_module && text.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(Vec::new());
    }
    let inlined =
        text.strip_suffix(INLINED).filter(|name| !name.is_empty()).map(|name| Meaning::Inlined(Pattern::new(name)));
    let whole = Meaning::Symbol { name: Pattern::new(text), offset: 0 };
    Ok(inlined.into_iter().chain(symbol_and_offset(text)).chain([whole]).collect())
}

/// `usdt:PROVIDER:NAME`; the names of static probes have no colons.
fn probe(text: &str) -> Option<Meaning> {
    let (provider, name) = text.strip_prefix("usdt:")?.split_once(':')?;
    let is_name = |part: &str| !part.is_empty() && !part.contains(':');
    let of = |part| Pattern::new(part);
    (is_name(provider) && is_name(name)).then(|| Meaning::Probe { provider: of(provider), name: of(name) })
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

fn symbol_and_offset(text: &str) -> Option<Meaning> {
    let (name, offset) = text.rsplit_once('+').filter(|(name, _)| !name.is_empty())?;
    let offset = match address(offset) {
        Some(number) => number.ok()?,
        None => offset.parse().ok()?,
    };
    Some(Meaning::Symbol { name: Pattern::new(name), offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each reading in short: the meaning and the module.
    fn read(text: &str) -> Vec<String> {
        let show = |reading: &Reading| {
            let meaning = match &reading.meaning {
                Meaning::Symbol { name, offset: 0 } => name.text().to_string(),
                Meaning::Symbol { name, offset } => format!("{} + {offset:#x}", name.text()),
                Meaning::Inlined(name) => format!("copies of {}", name.text()),
                Meaning::Address(address) => format!("{address:#x}"),
                Meaning::Line { file, line } => format!("{file} line {line}"),
                Meaning::Probe { provider, name } => format!("probe {} of {}", name.text(), provider.text()),
            };
            reading.module.as_ref().map_or(meaning.clone(), |module| format!("{meaning} of {}", module.text()))
        };
        Location::parse(text).unwrap().readings.iter().map(show).collect()
    }

    #[test]
    fn every_form_is_distinguished_from_the_others() {
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
            ("usdt:python:gc__*", "probe gc__* of python"),
            ("libc!usdt:libc:setjmp", "probe setjmp of libc of libc"),
            ("usdt:x", "x of usdt"),
            ("usdt::a", "usdt::a"),
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
            ("prog!ns::max<int>@inlined", "copies of ns::max<int> of prog"),
            ("@inlined", "@inlined"),
        ] {
            assert_eq!(read(text)[0], expected, "{text}");
        }
    }

    #[test]
    fn an_ambiguous_location_has_several_readings() {
        assert_eq!(read("memfd:x!work"), ["work of memfd:x", "x!work of memfd", "memfd:x!work"]);
        assert_eq!(read("a+1"), ["a + 0x1", "a+1"]);
        assert_eq!(read("a(b!c"), ["a(b!c", "c of a(b"]);
        assert_eq!(read("f@inlined"), ["copies of f", "f@inlined"]);
        assert_eq!(read("type:.eq.T"), [".eq.T of type", "type:.eq.T"]);
    }

    #[test]
    fn a_missing_name_or_a_broken_number_is_an_error() {
        for text in ["", "libc!", "!malloc", "0x", "0xzz", "libc:0xzz"] {
            assert!(Location::parse(text).is_err(), "{text}");
        }
    }
}
