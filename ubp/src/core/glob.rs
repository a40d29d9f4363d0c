//! Patterns for paths.

/// Whether a pattern matches a path: `*` matches any bytes, `?` matches one byte, and all other bytes match themselves. A pattern without `/`
/// is compared with the last component.
///
/// A comparison takes at most as many steps as the product of both lengths.
#[expect(clippy::manual_contains, reason = "`contains` needs a function that kernels do not export")]
pub fn is_path(pattern: &[u8], path: &[u8]) -> bool {
    let compared = match pattern.iter().any(|byte| *byte == b'/') {
        true => path,
        false => path.rsplit(|byte| *byte == b'/').next().unwrap_or(path),
    };
    matches(pattern, compared)
}

/// Compares byte by byte. After a mismatch the last `*` takes one byte more.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0_usize, 0_usize);
    // Behind the last star: the place in the pattern, and the place in the text.
    let mut star: Option<(usize, usize)> = None;
    while let Some(byte) = text.get(at) {
        match (pattern.get(from), star) {
            (Some(b'*'), _) => {
                from = from.wrapping_add(1);
                star = Some((from, at));
            }
            (Some(wanted), _) if *wanted == b'?' || wanted == byte => {
                (at, from) = (at.wrapping_add(1), from.wrapping_add(1))
            }
            (_, Some((behind, taken))) => {
                (at, from) = (taken.wrapping_add(1), behind);
                star = Some((behind, at));
            }
            (_, None) => return false,
        }
    }
    pattern.get(from..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

#[cfg(test)]
mod tests {
    use super::is_path;

    #[test]
    fn stars_and_question_marks_are_wild() {
        for (pattern, path, expected) in [
            ("ls", "/usr/bin/ls", true),
            ("l", "/usr/bin/ls", false),
            ("l?", "/usr/bin/ls", true),
            ("*", "", true),
            ("/usr/*/ls", "/usr/bin/ls", true),
            ("/usr/*s", "/usr/bin/ls", true),
            ("bin/ls", "/usr/bin/ls", false),
            ("*.so.?", "/lib/libc.so.6", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbXd", false),
            ("", "/", true),
            ("?", "", false),
        ] {
            assert_eq!(is_path(pattern.as_bytes(), path.as_bytes()), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_take_no_more_steps_than_few() {
        let pattern = b"*a".repeat(500);
        assert!(!is_path(&pattern, &b"b".repeat(50_000)) && is_path(&pattern, &b"a".repeat(5_000)));
    }
}
