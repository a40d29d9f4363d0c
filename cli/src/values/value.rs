//! The values that functions get and return, and the text that they point to.

use std::fmt;

use serde::{Serialize, Serializer};
use ubp::{Address, Pid, Record, Registers, Session};

use crate::native;

/// The largest number of bytes of a string that are shown.
const LONGEST: usize = 64;
/// The lowest address that a program can map (`vm.mmap_min_addr`).
const LOWEST: u64 = 0x1_0000;

/// An integer argument, or a returned value. The field names are the keys of the JSON form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Value {
    #[serde(serialize_with = "hex")]
    value: u64,
    string: Option<String>,
}

impl Value {
    fn new(session: &mut Session, pid: Pid, value: u64) -> Value {
        Value { value, string: string(session, pid, value) }
    }

    /// The arguments of the function at whose first instruction the thread with these registers is.
    pub(super) fn arguments(session: &mut Session, pid: Pid, registers: &Registers) -> Vec<Value> {
        let values = native::arguments(session, pid, registers);
        values.into_iter().map(|value| Value::new(session, pid, value)).collect()
    }

    /// The arguments that a record has.
    pub(super) fn recorded(record: &Record) -> Vec<Value> {
        let value = |(number, value)| Value { value, string: printable(record.text(number)) };
        record.arguments.into_iter().enumerate().map(value).collect()
    }

    /// The value that a function has just returned.
    pub(super) fn returned(session: &mut Session, pid: Pid, registers: &Registers) -> Value {
        Value::new(session, pid, native::return_value(registers))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.string {
            Some(text) => write!(f, "{text:?}"),
            None => write!(f, "{:#x}", self.value),
        }
    }
}

/// Arguments in parentheses.
pub(super) struct List<'a>(pub(super) &'a [Value]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if number == 0 { "(" } else { ", " })?;
        }
        f.write_str(if self.0.is_empty() { "()" } else { ")" })
    }
}

fn hex<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:#x}"))
}

/// Returns the printable text at an address.
fn string(session: &mut Session, pid: Pid, address: u64) -> Option<String> {
    if address < LOWEST {
        return None;
    }
    let mut bytes = [0; LONGEST];
    let read = session.read_memory(pid, Address(address), &mut bytes).ok()?;
    printable(bytes.get(..read)?)
}

/// Returns the text up to the terminating zero. Longer text is cut and marked with `…`.
fn printable(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0);
    let text = &bytes[..end.unwrap_or(bytes.len())];
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        // The cut may be in the middle of a character.
        Err(error) if end.is_none() && error.error_len().is_none() => {
            std::str::from_utf8(&text[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let is_text = |c: char| !c.is_control() || matches!(c, '\n' | '\t' | '\r');
    (!text.is_empty() && text.chars().all(is_text)).then(|| match end {
        Some(_) => text.to_string(),
        None => format!("{text}…"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_at_its_zero() {
        assert_eq!(printable(b"abc\0\xff").as_deref(), Some("abc"));
        assert_eq!(printable("grün\n\0".as_bytes()).as_deref(), Some("grün\n"));
    }

    #[test]
    fn longer_text_is_marked_as_cut_even_within_a_character() {
        assert_eq!(printable(b"abc").as_deref(), Some("abc…"));
        assert_eq!(printable(b"ab\xc3").as_deref(), Some("ab…"));
    }

    #[test]
    fn other_bytes_and_nothing_are_no_text() {
        assert_eq!(printable(b"\x01\x02\0"), None);
        assert_eq!(printable(b"\xff\xfe\0"), None);
        assert_eq!(printable(b"\0"), None);
    }
}
