//! The text that a function's arguments point to.

use ubp::{Address, Pid, Session};

/// The largest number of bytes of a string that are shown.
const LONGEST: usize = 64;
/// The lowest address that a program can map (`vm.mmap_min_addr`).
const LOWEST: u64 = 0x1_0000;

/// Returns the printable text at an address.
pub(super) fn string(session: &mut Session, pid: Pid, address: u64) -> Option<String> {
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
