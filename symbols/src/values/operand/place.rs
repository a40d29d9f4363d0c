//! Where an argument of a static probe lies.

/// Where an argument lies. Registers are given by their numbers in debug information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Constant(i64),
    /// A general register, from a number of bits on.
    General {
        number: u16,
        shift: u8,
    },
    Vector(u16),
    Memory(Memory),
    /// An operand that no instruction of the architecture has, or one that cannot be followed.
    Unknown,
}

/// The sum of all that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) base: Option<u16>,
    /// A register and the power of two by which it is multiplied.
    pub(super) index: Option<(u16, u8)>,
    pub(super) symbol: Option<String>,
    pub(super) displacement: i64,
}

/// A number as the assembler reads it: decimal, or hexadecimal with 0x, with a sign before it.
pub(super) fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_assembler() {
        assert_eq!(
            ["5", "-5", "+5", "0x10", "-0x10", "x"].map(number),
            [Some(5), Some(-5), Some(5), Some(16), Some(-16), None]
        );
        assert_eq!(number("18446744073709551615"), Some(-1));
    }
}
