//! Arithmetic with its flags (SDM vol. 1, 3.4.3.1).

use insn::x86::Flags;

/// An operation on numbers of 1, 2, 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arithmetic {
    /// The sum.
    Add,
    /// The first number less the second one.
    Subtract,
    /// The bits of both.
    And,
    /// The bits of either.
    Or,
    /// The bits of one alone.
    ExclusiveOr,
    /// The first number plus 1. CF stays.
    Increment,
    /// The first number less 1. CF stays.
    Decrement,
    /// 0 less the first number.
    Negate,
    /// The bits that the first number lacks. The flags stay.
    Not,
}

impl Arithmetic {
    /// The result for two numbers of `size` bytes, and the flags after it. AF is 0 after `And`, `Or` and `ExclusiveOr`, which leave it
    /// undefined.
    pub(super) fn of(self, size: u8, first: u64, second: u64, flags: u64) -> (u64, u64) {
        let (result, carry, overflow) = match self {
            Arithmetic::Add => sum(first, second),
            Arithmetic::Increment => sum(first, 1),
            Arithmetic::Subtract => difference(first, second),
            Arithmetic::Decrement => difference(first, 1),
            Arithmetic::Negate => difference(0, first),
            Arithmetic::And => (first & second, 0, 0),
            Arithmetic::Or => (first | second, 0, 0),
            Arithmetic::ExclusiveOr => (first ^ second, 0, 0),
            Arithmetic::Not => return (!first & mask(size), flags),
        };
        let result = result & mask(size);
        let top = u32::from(size) * 8 - 1;
        let bit = |value: u64, number: u32| value >> number & 1 != 0;
        let kept = if matches!(self, Arithmetic::Increment | Arithmetic::Decrement) { Flags::CF.bits() } else { 0 };
        let all = [
            (Flags::CF, bit(carry, top)),
            (Flags::PF, (result as u8).count_ones() % 2 == 0),
            (Flags::AF, bit(carry, 3)),
            (Flags::ZF, result == 0),
            (Flags::SF, bit(result, top)),
            (Flags::OF, bit(overflow, top)),
        ];
        let mut flags = flags;
        for (flag, set) in all {
            let flag = u64::from(flag.bits() & !kept);
            flags = if set { flags | flag } else { flags & !flag };
        }
        (result, flags)
    }
}

/// A sum, with the carry out of each bit and the overflow at each bit.
fn sum(first: u64, second: u64) -> (u64, u64, u64) {
    let sum = first.wrapping_add(second);
    let carry = (first & second) | ((first | second) & !sum);
    (sum, carry, (first ^ sum) & (second ^ sum))
}

/// A difference, with the borrow out of each bit and the overflow at each bit.
fn difference(first: u64, second: u64) -> (u64, u64, u64) {
    let difference = first.wrapping_sub(second);
    let borrow = (!first & second) | (!(first ^ second) & difference);
    (difference, borrow, (first ^ second) & (first ^ difference))
}

/// The low `size` bytes: 1, 2, 4 or 8.
pub(super) fn mask(size: u8) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(size.clamp(1, 8)))
}
