//! Text of bytes that need not be text.

use std::borrow::Cow;

/// Returns the text of `bytes`. Bytes that are not UTF-8 are escaped (`\xff`); control characters are not.
pub fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.into();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text.into()
}

/// Returns the text up to the terminating zero. Longer text is cut and marked with `…`. `None`: the bytes are no text that can be printed.
pub fn printable(bytes: &[u8]) -> Option<String> {
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
    fn bytes_that_are_not_utf8_are_escaped() {
        assert_eq!(utf8(b"a\xffb\xc3"), "a\\xffb\\xc3");
        assert_eq!(utf8("grün".as_bytes()), "grün");
    }

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
