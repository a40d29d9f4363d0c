//! The keys of a terminal, from the bytes that it sends.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Letter(char),
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C.
    Interrupt,
    Up,
    Down,
    PageUp,
    PageDown,
    /// The first line.
    Home,
}

/// The sequences of keys that are no letters, behind the escape character (ECMA-48, xterm).
const SEQUENCES: [(&[u8], Key); 8] = [
    (b"[A", Key::Up),
    (b"[B", Key::Down),
    (b"OA", Key::Up),
    (b"OB", Key::Down),
    (b"[5~", Key::PageUp),
    (b"[6~", Key::PageDown),
    (b"[H", Key::Home),
    (b"OH", Key::Home),
];

const ESCAPE: u8 = 0x1b;

/// Reads keys. A sequence may come in parts.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pending: Vec<u8>,
}

impl Keys {
    /// The keys of the next bytes. Without bytes, an escape character that came last was the key of that name.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        let is_over = bytes.is_empty();
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        let mut rest = std::mem::take(&mut self.pending);
        while !rest.is_empty() {
            let Some((key, length)) = first(&rest, is_over) else {
                self.pending = rest;
                break;
            };
            keys.extend(key);
            rest.drain(..length);
        }
        keys
    }
}

/// The first key and the number of its bytes. `None`: the rest of the key has not come yet. No key: bytes without a meaning.
fn first(bytes: &[u8], is_over: bool) -> Option<(Option<Key>, usize)> {
    let (&byte, behind) = bytes.split_first()?;
    match byte {
        ESCAPE => sequence(behind, is_over).map(|(key, length)| (key, length + 1)),
        3 => Some((Some(Key::Interrupt), 1)),
        b'\r' | b'\n' => Some((Some(Key::Enter), 1)),
        8 | 0x7f => Some((Some(Key::Backspace), 1)),
        ..0x20 => Some((None, 1)),
        _ => letter(bytes, is_over),
    }
}

/// The key of a sequence behind the escape character.
fn sequence(bytes: &[u8], is_over: bool) -> Option<(Option<Key>, usize)> {
    match bytes {
        [] | [b'[' | b'O'] if !is_over => None,
        [b'[' | b'O', behind @ ..] if !behind.is_empty() => {
            if let Some((sequence, key)) = SEQUENCES.iter().find(|(sequence, _)| bytes.starts_with(sequence)) {
                return Some((Some(*key), sequence.len()));
            }
            // Parameters end with a letter or a tilde.
            match behind.iter().position(|byte| (0x40..0x7f).contains(byte)) {
                Some(end) => Some((None, end + 2)),
                None if is_over => Some((None, bytes.len())),
                None => None,
            }
        }
        _ => Some((Some(Key::Escape), 0)),
    }
}

/// The character at the start.
fn letter(bytes: &[u8], is_over: bool) -> Option<(Option<Key>, usize)> {
    let known = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).unwrap_or_default()
        }
        Err(error) if error.error_len().is_none() && !is_over => return None,
        Err(_) => return Some((None, 1)),
    };
    let letter = known.chars().next()?;
    Some((Some(Key::Letter(letter)), letter.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_keys_in_whatever_parts_they_come() {
        let bytes = "qä\x1b[A\x1b[6~\x1bOB\x1b[1;5C\r\x7f\x03\x1b[H".as_bytes();
        let expected = [
            Key::Letter('q'),
            Key::Letter('ä'),
            Key::Up,
            Key::PageDown,
            Key::Down,
            Key::Enter,
            Key::Backspace,
            Key::Interrupt,
            Key::Home,
        ];
        for size in 1..=bytes.len() {
            let mut keys = Keys::default();
            let read: Vec<Key> = bytes.chunks(size).flat_map(|part| keys.read(part)).collect();
            assert_eq!(read, expected, "parts of {size}");
        }
    }

    #[test]
    fn an_escape_character_alone_is_a_key_when_nothing_follows() {
        let mut keys = Keys::default();
        assert_eq!(keys.read(b"\x1b"), []);
        assert_eq!(keys.read(b""), [Key::Escape]);
        assert_eq!(keys.read(b"\x1bq"), [Key::Escape, Key::Letter('q')]);
    }

    #[test]
    fn no_bytes_stop_the_reader() {
        for byte in 0..=255u8 {
            let mut keys = Keys::default();
            keys.read(&[byte]);
            keys.read(b"");
            assert!(keys.pending.is_empty(), "{byte:#x}");
        }
    }
}
