//! Conditions that the kernel can look at by itself.

use wire::site::{Condition as Filter, Relation, Subject};

use super::arch;
use crate::{Comparison, Condition, Operand};

/// The same condition in the kernel's words, where it has them. Memory is looked at here, where breakpoints are not seen in it.
pub(super) fn of(condition: &Condition, narrow: bool) -> Option<Filter> {
    let subject = match condition.left {
        // What the kernel looks at has 32-bit words in 32-bit programs.
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
