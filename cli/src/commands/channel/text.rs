//! Messages of the channel, and their declarations, as text.

use std::fmt::Write;

use wire::{Declaration, Documentation, Header, Kind, Parameter, Status, commands, events};

use super::grammar::fields;
use crate::output::shown;

/// The text of a whole message, and whether it tells of a failure.
pub(super) fn message(header: Header, bytes: &[u8]) -> (String, bool) {
    let is_event = header.code >= events::FIRST;
    let list = if is_event { events::DECLARATIONS } else { commands::DECLARATIONS };
    let words: Vec<u64> = bytes.chunks_exact(8).skip(2).filter_map(word).collect();
    let Some(one) = list.iter().find(|one| one.code == header.code) else {
        return (format!("message {:#06x} of {} bytes", header.code, bytes.len()), false);
    };
    if is_event {
        return (format!("event {} {}{}", header.tag, one.name, values(one.fields, &words, bytes, 2)), false);
    }
    match words.first().map(|number| Status::from_number(*number)) {
        Some(Some(Status::Done)) => {
            let words = words.get(2..).unwrap_or_default();
            (format!("{}: done{}", one.name, values(one.reply, words, bytes, 4)), false)
        }
        status => {
            let status = status.flatten().map_or("an unknown status", Status::text);
            let detail = words.get(1).copied().unwrap_or_default();
            (format!("{}: {status} ({detail:#x})", one.name), true)
        }
    }
}

fn word(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

/// Fields with their names. The blobs begin behind `first` words of the message and the fields.
fn values(list: &[Parameter], words: &[u64], bytes: &[u8], first: usize) -> String {
    let mut text = String::new();
    let mut at = (first + list.len()) * 8;
    for (field, value) in list.iter().zip(words) {
        let shown = match field.kind {
            Kind::Word => format!("{value}"),
            Kind::Blob => {
                let length = usize::try_from(*value).unwrap_or(usize::MAX);
                let blob = bytes.get(at..at.saturating_add(length)).unwrap_or_default();
                at = at.saturating_add(length);
                self::blob(blob)
            }
        };
        let _ = write!(text, " {}={shown}", field.name);
    }
    text
}

/// A blob: lines of text, or words, or bytes.
fn blob(bytes: &[u8]) -> String {
    let is_text = |text: &&str| !text.is_empty() && text.chars().all(|one| one == '\n' || !one.is_control());
    if let Some(text) = std::str::from_utf8(bytes).ok().filter(is_text) {
        return text.lines().map(|line| format!("\n  {}", shown(line))).collect();
    }
    if !bytes.is_empty() && bytes.len() % 8 == 0 {
        let words: Vec<String> = bytes.chunks_exact(8).filter_map(word).map(|word| format!("{word:#x}")).collect();
        return format!("words:{}", words.join(","));
    }
    bytes.iter().fold("hex:".into(), |text, byte| format!("{text}{byte:02x}"))
}

/// Lines on all declarations, or the documentation of those with a name; `None` if there is none.
pub(super) fn describe(name: Option<&str>) -> Option<String> {
    let both = [
        ("command", commands::DECLARATIONS, commands::DOCUMENTATION),
        ("event", events::DECLARATIONS, events::DOCUMENTATION),
    ];
    let mut text = String::new();
    for (what, list, documentation) in both {
        for (one, documented) in list.iter().zip(documentation) {
            if name.is_none_or(|name| name == one.name) {
                head(&mut text, what, one);
                if name.is_some() {
                    document(&mut text, one, documented);
                }
            }
        }
    }
    (!text.is_empty()).then_some(text)
}

fn head(text: &mut String, what: &str, one: &Declaration) {
    let reply = if one.reply.is_empty() { String::new() } else { format!(" ->{}", fields(one.reply)) };
    let _ = writeln!(text, "{what} {}{}{reply}", one.name, fields(one.fields));
}

fn document(text: &mut String, one: &Declaration, documented: &Documentation) {
    let mut lines = |indent: &str, lines: &[&str]| {
        for line in lines {
            let _ = writeln!(text, "{indent}{}", line.trim());
        }
    };
    lines("  ", documented.lines);
    let all = one.fields.iter().zip(documented.fields).chain(one.reply.iter().zip(documented.reply));
    for (field, about) in all {
        lines("  ", &[field.name]);
        lines("    ", about);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::events::Event;
    use wire::{Field, Split, encode, split};

    fn text_of(bytes: &[u8]) -> (String, bool) {
        let Ok(Split::Message(message, [])) = split(bytes) else { panic!("{bytes:x?}") };
        super::message(message.header, bytes)
    }

    #[test]
    fn replies_and_events_are_shown_with_the_names_of_their_fields() {
        let mut bytes = Vec::new();
        let header = Header { code: 0x20, flags: 0, tag: 3 };
        let fields = [Field::Word(0), Field::Word(0), Field::Word(2), Field::Blob(&[])];
        encode(&mut bytes, header, &fields).unwrap();
        assert_eq!(text_of(&bytes), ("insert: done inserted=2 failures=hex:".into(), false));
        bytes.clear();
        encode(&mut bytes, header, &[Field::Word(6), Field::Word(16)]).unwrap();
        assert_eq!(text_of(&bytes), ("insert: no such process (0x10)".into(), true));
        bytes.clear();
        let (registers, memory) = (&[1, 0, 0, 0, 0, 0, 0, 0][..], &[0xff][..]);
        let hit = Event::Hit { time: 1, debuggee: 2, thread: 3, address: 4, count: 5, registers, memory };
        hit.encode(&mut bytes, 9).unwrap();
        let expected = "event 9 hit time=1 debuggee=2 thread=3 address=4 count=5 registers=words:0x1 memory=hex:ff";
        assert_eq!(text_of(&bytes), (expected.into(), false));
    }

    #[test]
    fn describe_lists_every_declaration_and_explains_one() {
        let all = describe(None).unwrap();
        assert_eq!(all.lines().count(), commands::DECLARATIONS.len() + events::DECLARATIONS.len());
        let one = describe(Some("buffer")).unwrap();
        assert!(one.starts_with("command buffer mode:word size:word mark:word\n  Chooses"), "{one}");
        assert!(one.contains("\n  mode\n    Mode: 0"), "{one}");
        assert_eq!(describe(Some("nothing")), None);
    }
}
