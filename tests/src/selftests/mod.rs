//! The kernel's own tests of x86 (tools/testing/selftests/x86), out of Debian's package of the kernel's source.

mod source;
mod table;

pub use source::Source;
pub use table::{Deviation, SELFTESTS, Selftest, Sites, deviation};

/// The lines of a test's output that tell a result (`[OK]`, `[FAIL]`, …), with what differs from run to run, addresses and
/// process ids, as `#`.
pub fn results(output: &str) -> Vec<String> {
    output.lines().map(str::trim_start).filter(|line| line.starts_with('[')).map(without_numbers).collect()
}

/// A word of four or more hexadecimal digits, or behind `0x`, is an address, a process id or register contents.
fn without_numbers(line: &str) -> String {
    let is_number = |word: &str| {
        let digits = word.trim_start_matches("0x");
        let hexadecimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        hexadecimal && (digits.len() < word.len() || digits.len() >= 4 && digits.bytes().any(|b| b.is_ascii_digit()))
    };
    let mut text = String::new();
    for part in line.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        text.push_str(if is_number(word) { "#" } else { word });
        text.push_str(&part[word.len()..]);
    }
    text
}

/// The lines that only one of two lists has, each as often as it has them more than the other.
pub fn difference(one: &[String], other: &[String]) -> (Vec<String>, Vec<String>) {
    let less = |from: &[String], taken: &[String]| {
        let mut taken: Vec<&String> = taken.iter().collect();
        let mut left = from.to_vec();
        left.retain(|line| match taken.iter().position(|other| *other == line) {
            Some(at) => {
                taken.swap_remove(at);
                false
            }
            None => true,
        });
        left
    };
    (less(one, other), less(other, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_without_addresses_and_ids() {
        let output = "\tnote 1\n[OK]\tLDT entry 0 has AR 0x0040FB00\n  [FAIL] GS 2b at 0x0x40f1, pid 31869, face\n";
        assert_eq!(results(output), ["[OK]\tLDT entry 0 has AR #", "[FAIL] GS 2b at #, pid #, face"]);
    }

    #[test]
    fn a_line_that_comes_twice_differs_from_one_that_comes_once() {
        let lines = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        let (one, other) = difference(&lines("a b a c"), &lines("c a d"));
        assert_eq!((one, other), (lines("b a"), lines("d")));
    }
}
