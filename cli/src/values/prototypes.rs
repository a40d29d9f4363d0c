//! Prototypes of the C library's functions, whose files have no debug information in most systems.

use std::collections::HashMap;
use std::sync::OnceLock;

use ubp_symbols::Image;
use ubp_symbols::values::{Argument, Data};

use super::kind::Kind;

/// The table; its head explains it.
const TABLE: &str = include_str!("prototypes.txt");

/// The flags of open(2) with which it takes permissions: `O_CREAT`, and that of `O_TMPFILE` alone.
const CREATES: u64 = 0o100 | 0o20_000_000;

/// A function's arguments and result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prototype {
    arguments: Vec<(&'static str, &'static str)>,
    result: Option<&'static str>,
}

/// The prototype of the function at an address in the file of the C library, by its symbols or by the locations that mean it.
pub(super) fn of<'a>(
    image: &Image,
    address: u64,
    mut locations: impl Iterator<Item = &'a str>,
) -> Option<&'static Prototype> {
    static KNOWN: OnceLock<HashMap<&str, Prototype>> = OnceLock::new();
    if !image.name().starts_with("libc.so") && !image.name().starts_with("libc-") {
        return None;
    }
    let known = KNOWN.get_or_init(|| TABLE.lines().filter_map(parse).collect());
    let by_symbol = image.symbols().at(address).find_map(|symbol| known.get(symbol.name));
    by_symbol.or_else(|| locations.find_map(|location| known.get(location.rsplit(['!', ':']).next()?)))
}

/// The name and the prototype of a line.
fn parse(line: &'static str) -> Option<(&'static str, Prototype)> {
    let (name, rest) = line.split_once('(').filter(|_| !line.starts_with('#'))?;
    let (arguments, rest) = rest.split_once(')')?;
    let arguments = arguments.split(", ").filter_map(|argument| argument.split_once(": ")).collect();
    Some((name, Prototype { arguments, result: rest.strip_prefix(" -> ") }))
}

impl Prototype {
    /// The name and the kind of each argument.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&'static str, Kind)> {
        self.arguments.iter().map(|(name, kind)| (*name, kind_of(kind)))
    }

    /// The arguments from registers and the texts to which those point.
    pub(super) fn arguments(&self, all: &[(u64, Option<String>)]) -> Vec<Argument> {
        let of = |(&(name, kind), (value, text)): (&(&str, &str), &(u64, Option<String>))| {
            argument(name, kind, *value, text.clone())
        };
        let before = all.iter().take(1).chain(all).map(|(value, _)| *value);
        let is_there =
            |(((_, kind), _), before): &((&(&str, &str), _), u64)| *kind != "created" || before & CREATES != 0;
        self.arguments.iter().zip(all).zip(before).filter(is_there).map(|(argument, _)| of(argument)).collect()
    }

    /// What the result is to a filter. `None`: the function returns nothing.
    pub(super) fn result_kind(&self) -> Option<Kind> {
        self.result.map(kind_of)
    }

    /// The result from its register and the text to which it points. `None`: the function returns nothing.
    pub(super) fn result(&self, value: u64, text: Option<String>) -> Option<Argument> {
        self.result.map(|kind| argument("", kind, value, text))
    }
}

/// What a value of a kind of the table is to a filter.
fn kind_of(kind: &str) -> Kind {
    match kind {
        "int" => Kind::Integer { size: 4, signed: true },
        "uint" | "hex" | "octal" | "created" => Kind::Integer { size: 4, signed: false },
        "long" => Kind::Integer { size: 8, signed: true },
        "size" => Kind::Integer { size: 8, signed: false },
        "char" => Kind::Integer { size: 1, signed: false },
        _ => Kind::Pointer,
    }
}

fn argument(name: &str, kind: &str, value: u64, text: Option<String>) -> Argument {
    let data = match kind {
        "int" => Data::Signed((value as i32).into()),
        "uint" => Data::Unsigned((value as u32).into()),
        "long" => Data::Signed(value as i64),
        "size" => Data::Unsigned(value),
        "hex" => Data::Pointer { address: (value as u32).into(), text: None, target: None },
        "octal" | "created" => Data::Name(format!("0{:o}", value as u32)),
        "char" => match u8::try_from(value & 0xff) {
            Ok(byte) if byte.is_ascii() => Data::Character(byte.into()),
            _ => Data::Unsigned(value & 0xff),
        },
        _ => Data::Pointer { address: value, text, target: None },
    };
    Argument::new(name, kind, data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_prototype_of_known_kinds_and_every_name_stands_once() {
        let kinds = ["int", "uint", "long", "size", "hex", "octal", "string", "pointer", "char", "created"];
        let mut names = Vec::new();
        for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, prototype) = parse(line).unwrap_or_else(|| panic!("{line}"));
            names.push(name);
            let count = line.matches(": ").count();
            assert_eq!(prototype.arguments.len(), count, "{line}");
            assert!(count <= 6, "{line}");
            for kind in prototype.arguments.iter().map(|(_, kind)| *kind).chain(prototype.result) {
                assert!(kinds.contains(&kind), "{line}: {kind}");
            }
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), all > 100), (all, true));
    }

    #[test]
    fn permissions_are_told_where_a_file_is_created() {
        let (_, open) = TABLE.lines().filter_map(parse).find(|(name, _)| *name == "open").unwrap();
        let names = |flags: u64| {
            let all = [(0x1000, Some("f".into())), (flags, None), (0o644, None)];
            open.arguments(&all)
                .iter()
                .map(|argument| format!("{}={}", argument.name, argument.data))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(0), ["path=\"f\"", "flags=0x0"]);
        assert_eq!(names(0o101), ["path=\"f\"", "flags=0x41", "mode=0644"]);
    }

    #[test]
    fn a_number_has_the_width_and_the_sign_of_its_kind() {
        let shown = |kind, value| argument("", kind, value, None).data.to_string();
        assert_eq!(shown("int", 0xffff_ff9c), "-100");
        assert_eq!(shown("uint", 0x1_ffff_ffff), "4294967295");
        assert_eq!(shown("octal", 0o644), "0644");
        assert_eq!(shown("hex", 0x1_0000_0241), "0x241");
        assert_eq!(shown("long", u64::MAX), "-1");
    }
}
