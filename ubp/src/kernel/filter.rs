//! Conditions that the kernel can evaluate.

use wire::site::{Condition as Filter, Relation, Subject};

use super::arch;
use crate::{Comparison, Condition, Operand};

/// The condition in the channel's terms, if it has them. Conditions on memory are evaluated here, where breakpoint instructions are not
/// visible.
pub(super) fn of(condition: &Condition, narrow: bool) -> Option<Filter> {
    let Condition::Compare { left, comparison, right } = *condition else { return None };
    let subject = match left {
        // The kernel's registers of 32-bit programs are 32-bit words.
        Operand::Register(register) | Operand::Part { register, size: 8 } if !narrow => {
            Subject::Register(arch::word(register)?)
        }
        _ => return None,
    };
    let (relation, value) = match comparison {
        Comparison::Equal => (Relation::Equal, right),
        Comparison::NotEqual => (Relation::NotEqual, right),
        Comparison::Below => (Relation::Below, right),
        Comparison::BelowOrEqual => (Relation::Below, right.checked_add(1)?),
        Comparison::Above => (Relation::NotBelow, right.checked_add(1)?),
        Comparison::AboveOrEqual => (Relation::NotBelow, right),
        Comparison::HasBits => (Relation::AllOf, right),
        // The kernel compares unsigned numbers.
        _ => return None,
    };
    Some(Filter { subject, relation, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::SHOWN;

    #[test]
    fn every_comparison_says_the_same_in_the_kernels_words() {
        use Comparison::{Above, AboveOrEqual, Below, BelowOrEqual, Equal, HasBits, NotEqual};
        let numbers = [0, 1, 2, 3, 6, u64::MAX - 1, u64::MAX];
        for comparison in [Equal, NotEqual, Below, BelowOrEqual, Above, AboveOrEqual, HasBits] {
            for right in numbers {
                let left = Operand::Register(SHOWN[0]);
                let Some(filter) = of(&left.is(comparison, right), false) else { continue };
                for left in numbers {
                    let said = filter.relation.holds(left, filter.value);
                    assert_eq!(said, comparison.holds(left, right), "{left} {comparison:?} {right}");
                }
            }
        }
    }

    #[test]
    fn a_register_of_a_32_bit_program_is_looked_at_here() {
        let condition = Operand::Register(SHOWN[0]).is(Comparison::Equal, 1);
        assert!(of(&condition, false).is_some());
        assert_eq!(of(&condition, true), None);
    }
}
