//! Hexadecimal numbers and bytes.

/// Appends each byte as two digits.
pub(crate) fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend([byte >> 4, byte & 15].map(|digit| DIGITS.get(usize::from(digit)).copied().unwrap_or(b'0')));
    }
}

/// The bytes as text of two digits each.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    push(&mut out, bytes);
    String::from_utf8(out).unwrap_or_default()
}

/// The bytes that a text of two digits each stands for; `None` if a character is no digit or one digit is left over.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| Some(char::from(byte).to_digit(16)? as u8);
    if text.len() % 2 != 0 {
        return None;
    }
    text.chunks_exact(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.last()?)?)).collect()
}

/// A number; `None` if the text is no hexadecimal number of 64 bits.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(text, 16).ok()
}

/// Two numbers with a separator between them.
pub(crate) fn pair(text: &[u8], separator: u8) -> Option<(u64, u64)> {
    let (first, second) = split(text, separator)?;
    Some((number(first)?, number(second)?))
}

/// The text before and behind the first separator.
pub(crate) fn split(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&byte| byte == separator)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_their_digits() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(encode(&bytes).as_bytes()), Some(bytes));
        assert_eq!((decode(b"abc"), decode(b"zz"), number(b"+1"), number(b"")), (None, None, None, None));
        assert_eq!(pair(b"7f,10", b','), Some((0x7f, 0x10)));
    }
}
