//! Conditions that the kernel can evaluate.

use wire::site::{Condition as Filter, Relation, Subject};

use super::arch;
use crate::{Comparison, Condition, Operand};

/// The condition in the channel's terms, if it has them. Conditions on memory are evaluated here, where breakpoint instructions are not
/// visible.
pub(super) fn of(condition: &Condition, narrow: bool) -> Option<Filter> {
    let subject = match condition.left {
        // The kernel's registers of 32-bit programs are 32-bit words.
        Operand::Register(register) if !narrow => Subject::Register(arch::word(register)?),
        _ => return None,
    };
    let (relation, value) = match condition.comparison {
        Comparison::Equal => (Relation::Equal, condition.right),
        Comparison::NotEqual => (Relation::NotEqual, condition.right),
        Comparison::Below => (Relation::Below, condition.right),
        Comparison::BelowOrEqual => (Relation::Below, condition.right.checked_add(1)?),
        Comparison::Above => (Relation::NotBelow, condition.right.checked_add(1)?),
        Comparison::AboveOrEqual => (Relation::NotBelow, condition.right),
        Comparison::HasBits => (Relation::AllOf, condition.right),
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
                let Some(filter) = of(&Condition { left, comparison, right }, false) else { continue };
                for left in numbers {
                    let said = filter.relation.holds(left, filter.value);
                    assert_eq!(said, comparison.holds(left, right), "{left} {comparison:?} {right}");
                }
            }
        }
    }

    #[test]
    fn a_register_of_a_32_bit_program_is_looked_at_here() {
        let condition = Condition { left: Operand::Register(SHOWN[0]), comparison: Comparison::Equal, right: 1 };
        assert!(of(&condition, false).is_some());
        assert_eq!(of(&condition, true), None);
    }
}
