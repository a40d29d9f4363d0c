//! Hexadecimal digits.

/// Parses bytes from digits. Spaces, commas, `0x` and `\x` may separate the bytes.
///
/// # Errors
/// The text has another character, or an odd number of digits.
pub(crate) fn parse(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for word in text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '"' | '\'')) {
        for part in word.split("\\x") {
            let digits = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")).unwrap_or(part);
            push_digits(digits, &mut bytes)?;
        }
    }
    Ok(bytes)
}

fn push_digits(digits: &str, bytes: &mut Vec<u8>) -> Result<(), String> {
    let mut high = None;
    for c in digits.chars() {
        let Some(digit) = c.to_digit(16) else {
            return Err(format!("not a hexadecimal digit: '{}'", c.escape_debug()));
        };
        let digit = digit as u8;
        high = match high {
            None => Some(digit),
            Some(high) => {
                bytes.push(high << 4 | digit);
                None
            }
        };
    }
    match high {
        Some(_) => Err(format!("odd number of hexadecimal digits in '{digits}'")),
        None => Ok(()),
    }
}

/// Returns lower-case digits without separators.
pub(crate) fn plain(bytes: &[u8]) -> String {
    joined(bytes, "")
}

/// Returns lower-case digits with a space between bytes.
pub(crate) fn spaced(bytes: &[u8]) -> String {
    joined(bytes, " ")
}

fn joined(bytes: &[u8], between: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * (2 + between.len()));
    for byte in bytes {
        if !text.is_empty() {
            text.push_str(between);
        }
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Returns the 32-bit words of bytes in the order of memory, least significant byte first. Bytes after the last whole word are left out.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).filter_map(|word| word.first_chunk()).map(|word| u32::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_commas_and_prefixes_between_bytes_are_allowed() {
        for text in ["488b05", "48 8B 05", "0x48,0x8b,0x05", "\\x48\\x8b\\x05", "0x488b05", " 48:8b:05 "] {
            assert_eq!(parse(text).as_deref(), Ok(&[0x48, 0x8b, 0x05][..]), "{text}");
        }
    }

    #[test]
    fn odd_digits_and_other_letters_are_named() {
        assert!(parse("488").unwrap_err().contains("odd"));
        assert!(parse("48xz").unwrap_err().contains("'x'"));
    }

    #[test]
    fn what_is_written_can_be_read_back() {
        let bytes = [0, 1, 0xfe, 0xff];
        assert_eq!(parse(&plain(&bytes)).as_deref(), Ok(&bytes[..]));
        assert_eq!(parse(&spaced(&bytes)).as_deref(), Ok(&bytes[..]));
    }
}
