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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf8_are_escaped() {
        assert_eq!(utf8(b"a\xffb\xc3"), "a\\xffb\\xc3");
        assert_eq!(utf8("grün".as_bytes()), "grün");
    }
}
