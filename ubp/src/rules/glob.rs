//! Patterns for paths.

/// A pattern for a path: `*` matches any bytes, `?` matches one byte, and all other bytes match themselves. A pattern without `/` is
/// compared with the last component.
///
/// A comparison takes at most as many steps as the product of both lengths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glob(Box<[u8]>);

impl Glob {
    /// The pattern with a text.
    pub fn new(text: impl AsRef<[u8]>) -> Glob {
        Glob(text.as_ref().into())
    }

    /// Whether the pattern matches a path.
    pub fn matches(&self, path: impl AsRef<[u8]>) -> bool {
        let path = path.as_ref();
        let compared = match self.0.contains(&b'/') {
            true => path,
            false => path.rsplit(|byte| *byte == b'/').next().unwrap_or(path),
        };
        matches(&self.0, compared)
    }
}

/// Compares byte by byte. After a mismatch the last `*` takes one byte more.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Behind the last star: the place in the pattern, and the place in the text.
    let mut star: Option<(usize, usize)> = None;
    while let Some(byte) = text.get(at) {
        match (pattern.get(from), star) {
            (Some(b'*'), _) => {
                from += 1;
                star = Some((from, at));
            }
            (Some(wanted), _) if *wanted == b'?' || wanted == byte => (at, from) = (at + 1, from + 1),
            (_, Some((behind, taken))) => {
                (at, from) = (taken + 1, behind);
                star = Some((behind, taken + 1));
            }
            (_, None) => return false,
        }
    }
    pattern.get(from..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(Glob::new(pattern).matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_take_no_more_steps_than_few() {
        let pattern = Glob::new("*a".repeat(500));
        assert!(!pattern.matches("b".repeat(50_000)) && pattern.matches("a".repeat(5_000)));
    }
}
