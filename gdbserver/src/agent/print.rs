//! The format strings of agent expressions: those of printf(3) for integers, characters, pointers and texts.

/// The longest text that an argument of `%s` prints.
const LONGEST: usize = 200;

/// A format with its arguments. `read` fills a buffer from memory, and returns whether it could.
pub(super) fn format(format: &[u8], values: &[u64], read: &mut dyn FnMut(u64, &mut [u8]) -> bool) -> String {
    let mut out = Vec::new();
    let mut values = values.iter().copied();
    let mut rest = format.iter().copied();
    while let Some(byte) = rest.next() {
        if byte == b'\\' {
            out.extend(rest.next().map(escaped));
            continue;
        }
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        // Flags, width and precision are left out; the length says how many bits count.
        let mut longs = 0;
        let conversion = loop {
            match rest.next() {
                Some(b'l' | b'j' | b'z' | b't') => longs += 1,
                Some(b'0'..=b'9' | b'-' | b'+' | b' ' | b'#' | b'.' | b'h') => {}
                other => break other,
            }
        };
        if conversion == Some(b'%') {
            out.push(b'%');
            continue;
        }
        let value = values.next().unwrap_or(0);
        let unsigned = if longs == 0 { value & u64::from(u32::MAX) } else { value };
        let signed = if longs == 0 { i64::from(value as i32) } else { value as i64 };
        match conversion {
            Some(b'd' | b'i') => out.extend(signed.to_string().bytes()),
            Some(b'u') => out.extend(unsigned.to_string().bytes()),
            Some(b'x' | b'X') => out.extend(format!("{unsigned:x}").bytes()),
            Some(b'o') => out.extend(format!("{unsigned:o}").bytes()),
            Some(b'c') => out.push(value as u8),
            Some(b'p') => out.extend(format!("{value:#x}").bytes()),
            Some(b's') => out.extend(text(value, read)),
            _ => out.extend(b"%?"),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The character of an escape in C. The client sends formats as the user wrote them.
fn escaped(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'a' => 7,
        b'e' => 27,
        other => other,
    }
}

fn text(address: u64, read: &mut dyn FnMut(u64, &mut [u8]) -> bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut byte = [0];
    while out.len() < LONGEST && read(address.wrapping_add(out.len() as u64), &mut byte) && byte != [0] {
        out.extend(byte);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn conversions_take_as_many_bits_as_they_name() {
        let mut read = |address: u64, bytes: &mut [u8]| {
            bytes.fill(*b"text\0".get(address as usize).unwrap_or(&0));
            true
        };
        let mut printed = |format: &str, values: &[u64]| super::format(format.as_bytes(), values, &mut read);
        assert_eq!(printed("%d %u %ld 100%%", &[u64::MAX; 3]), "-1 4294967295 -1 100%");
        assert_eq!(printed("%5x|%c|%s|%p", &[255, 65, 0, 16]), "ff|A|text|0x10");
        assert_eq!(printed("%d %f\\n\\t\\\\", &[]), "0 %?\n\t\\");
    }
}
