//! Lines of `ntrace channel`, as commands of the kernel module's channel.

use wire::{Declaration, Header, Kind, commands, encode};

/// How the value of a blob is written.
const BLOB: &str = "hex:BYTES, words:NUMBER,NUMBER,… or text:TEXT";

/// What a line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Nothing,
    /// All declarations, or those with a name.
    Describe(Option<String>),
    /// The events that are there, and at least this number where one is given.
    Show(Option<u64>),
    /// A message that is a command.
    Send(Vec<u8>),
}

/// The number that a text is, in decimal or hexadecimal.
fn number(text: &str) -> Option<u64> {
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok())
}

/// The bytes that a text is.
fn blob(text: &str) -> Option<Vec<u8>> {
    if let Some(text) = text.strip_prefix("text:") {
        return Some(text.as_bytes().to_vec());
    }
    if let Some(words) = text.strip_prefix("words:") {
        let words = words.split(',').filter(|word| !word.is_empty()).map(number);
        return Some(words.collect::<Option<Vec<u64>>>()?.iter().flat_map(|word| word.to_ne_bytes()).collect());
    }
    let digits = text.strip_prefix("hex:")?;
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if digits.len() % 2 == 0 { digits.as_bytes().chunks(2).map(pair).collect() } else { None }
}

/// The fields of a declaration, as describe and messages show them.
pub(super) fn fields(list: &[wire::Parameter]) -> String {
    list.iter().map(|field| format!(" {}:{}", field.name, field.kind.name())).collect()
}

/// Parses a line. A command gets `tag`.
pub(super) fn parse(line: &str, tag: u64) -> Result<Line, String> {
    let mut words = line.split_whitespace();
    let (first, rest): (_, Vec<&str>) = (words.next(), words.collect());
    match (first, rest.as_slice()) {
        (None, _) => Ok(Line::Nothing),
        (Some(comment), _) if comment.starts_with('#') => Ok(Line::Nothing),
        (Some("describe"), []) => Ok(Line::Describe(None)),
        (Some("describe"), [name]) => Ok(Line::Describe(Some((*name).into()))),
        (Some("describe"), _) => Err("describe takes one name or none".into()),
        (Some("show"), []) => Ok(Line::Show(None)),
        (Some("show"), [count]) => {
            let count = number(count).ok_or(format!("'{count}' is no number of events: show waits for that many"))?;
            Ok(Line::Show(Some(count)))
        }
        (Some("show"), _) => Err("show takes one number of events or none".into()),
        (Some("send"), [name, values @ ..]) => command(name, values, tag),
        (Some("send"), []) => Err("send takes the name of a command: describe lists them".into()),
        (Some(name), values) => command(name, values, tag),
    }
}

fn command(name: &str, values: &[&str], tag: u64) -> Result<Line, String> {
    let unknown = || format!("'{name}' is no command: describe lists them");
    let one: &Declaration = commands::DECLARATIONS.iter().find(|one| one.name == name).ok_or_else(unknown)?;
    if values.len() != one.fields.len() {
        let (wanted, given) = (one.fields.len(), values.len());
        return Err(format!("{name} takes {wanted} values, and {given} are given: {name}{}", fields(one.fields)));
    }
    let mut parsed = Vec::new();
    for (field, text) in one.fields.iter().zip(values) {
        let wrong = |what| format!("'{text}' is no value of {}: {what}", field.name);
        parsed.push(match field.kind {
            Kind::Word => {
                (number(text).ok_or_else(|| wrong("a number is decimal, or hexadecimal with 0x"))?, Vec::new())
            }
            Kind::Blob => (0, blob(text).ok_or_else(|| wrong(BLOB))?),
        });
    }
    let values: Vec<wire::Field<'_>> = one
        .fields
        .iter()
        .zip(&parsed)
        .map(|(field, (word, bytes))| match field.kind {
            Kind::Word => wire::Field::Word(*word),
            Kind::Blob => wire::Field::Blob(bytes),
        })
        .collect();
    let mut bytes = Vec::new();
    let header = Header { code: one.code, flags: 0, tag };
    encode(&mut bytes, header, &values).map_err(|_| format!("the values of {name} are longer than a message"))?;
    Ok(Line::Send(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::commands::Command;

    fn sent(line: &str) -> Vec<u8> {
        match parse(line, 7) {
            Ok(Line::Send(bytes)) => bytes,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_line_is_the_command_that_it_names() {
        let bytes = |command: Command<'_>| {
            let mut bytes = Vec::new();
            command.encode(&mut bytes, 7, 0).unwrap();
            bytes
        };
        assert_eq!(sent("attach 12 0x11"), bytes(Command::Attach { process: 12, options: 17 }));
        assert_eq!(sent("send describe"), bytes(Command::Describe {}));
        let sites = [1u64.to_ne_bytes(), 255u64.to_ne_bytes()].concat();
        assert_eq!(sent("  insert 1 words:1,0xff "), bytes(Command::Insert { debuggee: 1, sites: &sites }));
        let write = |bytes| Command::WriteMemory { debuggee: 1, address: 2, bytes };
        assert_eq!(sent("write_memory 1 2 hex:00fF"), bytes(write(&[0, 255])));
        assert_eq!(sent("write_memory 1 2 text:hi"), bytes(write(b"hi")));
        for (line, expected) in [
            ("", Line::Nothing),
            ("# attach", Line::Nothing),
            ("describe", Line::Describe(None)),
            ("describe hit", Line::Describe(Some("hit".into()))),
            ("show", Line::Show(None)),
            ("show 3", Line::Show(Some(3))),
        ] {
            assert_eq!(parse(line, 7), Ok(expected));
        }
    }

    #[test]
    fn each_command_of_the_declarations_can_be_sent() {
        for one in commands::DECLARATIONS {
            let value = |field: &wire::Parameter| if field.kind == Kind::Word { " 1" } else { " hex:" };
            let line = format!("send {}{}", one.name, one.fields.iter().map(value).collect::<String>());
            assert!(matches!(parse(&line, 0), Ok(Line::Send(_))), "{line}");
        }
    }

    #[test]
    fn an_error_names_the_value_and_what_to_do() {
        for (line, expected) in [
            ("atach 1", "'atach' is no command: describe lists them"),
            ("attach 1", "attach takes 2 values, and 1 are given: attach process:word options:word"),
            ("attach x 1", "'x' is no value of process: a number is decimal, or hexadecimal with 0x"),
            ("remove 1 2", "'2' is no value of addresses: hex:BYTES, words:NUMBER,NUMBER,… or text:TEXT"),
            ("remove 1 hex:123", "'hex:123' is no value of addresses: hex:BYTES, words:NUMBER,NUMBER,… or text:TEXT"),
            ("show many", "'many' is no number of events: show waits for that many"),
            ("send", "send takes the name of a command: describe lists them"),
        ] {
            assert_eq!(parse(line, 0), Err(expected.into()));
        }
    }
}
