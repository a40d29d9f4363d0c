//! Which hits of a breakpoint stop the program.

/// Which hits stop the program, by their number, which begins with 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HitCount {
    sign: &'static str,
    number: u64,
}

/// The signs, the longer ones first. Without a sign the hit of that number is meant.
const SIGNS: [&str; 7] = [">=", "<=", "==", ">", "<", "=", "%"];

impl HitCount {
    /// Reads `5`, `== 5`, `>= 5`, or `% 5` for each fifth hit.
    ///
    /// # Errors
    /// The text is none of these.
    pub(super) fn parse(text: &str) -> Result<HitCount, String> {
        let text = text.trim();
        let sign = SIGNS.into_iter().find(|sign| text.starts_with(sign));
        let digits = text.strip_prefix(sign.unwrap_or_default()).unwrap_or(text).trim();
        match digits.parse() {
            Ok(number) if sign != Some("%") || number > 0 => Ok(HitCount { sign: sign.unwrap_or("=="), number }),
            _ => Err(format!("'{text}' is no number of hits; write 5, >= 5, or % 5 for each fifth hit")),
        }
    }

    /// Whether the hit of a number stops the program.
    pub(super) fn holds(self, hit: u64) -> bool {
        match self.sign {
            ">=" => hit >= self.number,
            "<=" => hit <= self.number,
            ">" => hit > self.number,
            "<" => hit < self.number,
            "%" => hit % self.number == 0,
            _ => hit == self.number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_those_of_c() {
        let holding = |text: &str| -> Vec<u64> {
            let count = HitCount::parse(text).unwrap();
            (1..=6).filter(|hit| count.holds(*hit)).collect()
        };
        assert_eq!(holding("3"), [3]);
        assert_eq!(holding(" == 3"), [3]);
        assert_eq!(holding(">= 5"), [5, 6]);
        assert_eq!(holding(">5"), [6]);
        assert_eq!(holding("<2"), [1]);
        assert_eq!(holding("<= 2"), [1, 2]);
        assert_eq!(holding("% 3"), [3, 6]);
    }

    #[test]
    fn what_is_no_number_of_hits_is_refused() {
        for text in ["", "x", "% 0", "-1", "3 4"] {
            assert!(HitCount::parse(text).is_err(), "{text}");
        }
    }
}
