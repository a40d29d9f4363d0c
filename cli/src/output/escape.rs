//! Escapes the characters that a terminal obeys.

use std::fmt::{self, Display, Write};
use std::ops::RangeInclusive;

/// The characters that change how a terminal shows other characters, in addition to control characters: Unicode's `Bidi_Control` (UAX #9),
/// and the separators of lines and paragraphs.
const DISPLACING: [RangeInclusive<char>; 4] =
    ['\u{61c}'..='\u{61c}', '\u{200e}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2066}'..='\u{2069}'];

/// The form of an escaped character.
#[derive(Clone, Copy)]
enum Form {
    /// The form in strings of Rust: `\n`, `\x1b`, `\u{202e}`.
    Text,
    /// The form in strings of JSON: `\u202e`. Newlines between values are not escaped.
    Json,
}

/// Appends the text of `value` as one line: newlines are escaped too.
pub(super) fn push_text(line: &mut String, value: impl Display) -> fmt::Result {
    write!(Escaper { out: line, form: Form::Text }, "{value}")
}

/// The text of `value` as one line, for a format that [`super::Output`] does not know.
pub(crate) fn escaped(value: impl Display) -> String {
    let mut line = String::new();
    let _ = push_text(&mut line, value);
    line
}

/// Appends a JSON text with the same value in which every special character is escaped.
pub(super) fn push_json(out: &mut String, json: &str) -> fmt::Result {
    Escaper { out, form: Form::Json }.write_str(json)
}

struct Escaper<'a> {
    out: &'a mut String,
    form: Form,
}

impl Write for Escaper<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| self.is_escaped(*c)) {
            self.out.push_str(&rest[..at]);
            self.escape(c)?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.out.push_str(rest);
        Ok(())
    }
}

impl Escaper<'_> {
    fn is_escaped(&self, c: char) -> bool {
        match self.form {
            Form::Json if c == '\n' => false,
            _ => c.is_control() || DISPLACING.iter().any(|range| range.contains(&c)),
        }
    }

    fn escape(&mut self, c: char) -> fmt::Result {
        match (self.form, c) {
            (Form::Json, _) => write!(self.out, "\\u{:04x}", u32::from(c)),
            (Form::Text, '\n') => self.out.write_str("\\n"),
            (Form::Text, '\r') => self.out.write_str("\\r"),
            (Form::Text, '\t') => self.out.write_str("\\t"),
            (Form::Text, '\0'..='\x7f') => write!(self.out, "\\x{:02x}", u32::from(c)),
            (Form::Text, _) => write!(self.out, "\\u{{{:x}}}", u32::from(c)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> String {
        let mut line = String::new();
        push_text(&mut line, value).unwrap();
        line
    }

    #[test]
    fn no_control_character_stays_in_a_line() {
        let all: String = (0..=0xffff).filter_map(char::from_u32).collect();
        let line = text(&all);
        assert!(!line.contains(char::is_control), "{line:?}");
        assert_eq!(text("a\x1b[31mb\x07\x7f"), "a\\x1b[31mb\\x07\\x7f");
        assert_eq!(text("a\nb\r\tc"), "a\\nb\\r\\tc");
        assert_eq!(text("\u{9b}2J"), "\\u{9b}2J");
    }

    #[test]
    fn characters_that_turn_the_direction_of_others_are_escaped() {
        assert_eq!(
            text("a\u{202e}b\u{2066}c\u{61c}d\u{200f}\u{2028}"),
            "a\\u{202e}b\\u{2066}c\\u{61c}d\\u{200f}\\u{2028}"
        );
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for plain in ["", "malloc", "ns::größe<T>", "λ → 関数", "C:\\x1b"] {
            assert_eq!(text(plain), plain);
        }
    }

    #[test]
    fn escaped_json_has_the_same_value() {
        let value = serde_json::json!({"name": "a\u{9b}\u{202e}\x7f\x1b\nb"});
        let mut out = String::new();
        push_json(&mut out, &serde_json::to_string_pretty(&value).unwrap()).unwrap();
        assert!(out.chars().all(|c| c == '\n' || (c.is_ascii() && !c.is_control())), "{out:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap(), value);
    }
}
