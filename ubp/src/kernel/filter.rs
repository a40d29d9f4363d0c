//! Conditions that the kernel can evaluate.

use wire::rule::{Clause, MOST_CLAUSES, Value};
use wire::site::{Base, Condition as Filter, Relation, Subject};

use super::arch;
use crate::{Comparison, Condition, Operand};

/// A condition that is one comparison of a register, in the channel's terms.
pub(super) fn of(condition: &Condition) -> Option<Filter> {
    let Condition::Compare { left, comparison, right } = *condition else { return None };
    let (Operand::Register(register) | Operand::Part { register, size: 8 }) = left else { return None };
    let subject = Subject::Register(arch::word(register)?);
    let (relation, value) = relation(comparison, right)?;
    Some(Filter { subject, relation, value })
}

/// The clauses of a rule that takes the hits for which a condition holds. `None`: there is no such rule.
pub(super) fn clauses(condition: &Condition) -> Option<Vec<Clause>> {
    let clause = |left, comparison, right| {
        let (relation, right) = relation(comparison, right)?;
        Some(Clause { begins: false, value: value(left)?, relation, right })
    };
    let mut all = Vec::new();
    for alternative in condition.alternatives(MOST_CLAUSES, &clause)? {
        let first = all.len();
        all.extend(alternative);
        if let Some(clause) = all.get_mut(first) {
            clause.begins = first > 0;
        }
    }
    Some(all)
}

/// An operand in the channel's terms. The kernel's number of arrivals is that of the site.
pub(super) fn value(operand: Operand) -> Option<Value> {
    Some(match operand {
        Operand::Register(register) => Value::Register { number: arch::word(register)?, size: 8 },
        Operand::Part { register, size } => Value::Register { number: arch::word(register)?, size },
        Operand::Memory { base, offset, size } => {
            let base = base.map_or(Some(Base::Zero), |base| arch::word(base).map(Base::Register))?;
            Value::Memory { base, offset: offset as u64, size }
        }
        Operand::Arrivals => return None,
    })
}

/// A comparison with a constant in the channel's terms.
fn relation(comparison: Comparison, right: u64) -> Option<(Relation, u64)> {
    let above = || right.checked_add(1);
    let greater = || (right as i64).checked_add(1).map(|right| right as u64);
    Some(match comparison {
        Comparison::Equal => (Relation::Equal, right),
        Comparison::NotEqual => (Relation::NotEqual, right),
        Comparison::Below => (Relation::Below, right),
        Comparison::BelowOrEqual => (Relation::Below, above()?),
        Comparison::Above => (Relation::NotBelow, above()?),
        Comparison::AboveOrEqual => (Relation::NotBelow, right),
        Comparison::HasBits => (Relation::AllOf, right),
        Comparison::Less => (Relation::Less, right),
        Comparison::LessOrEqual => (Relation::Less, greater()?),
        Comparison::Greater => (Relation::NotLess, greater()?),
        Comparison::GreaterOrEqual => (Relation::NotLess, right),
    })
}

#[cfg(test)]
mod tests {
    use wire::rule::holds;

    use super::*;
    use crate::arch::{MACHINES, SHOWN};

    const NUMBERS: [u64; 12] = [0, 1, 2, 3, 6, 0x7f, 0x80, 0xff, 0x100, i64::MAX as u64, 1 << 63, u64::MAX];

    fn comparisons() -> [Comparison; 11] {
        use Comparison::{Above, AboveOrEqual, Below, BelowOrEqual, Equal, HasBits, NotEqual};
        use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
        let unsigned = [Equal, NotEqual, Below, BelowOrEqual, Above, AboveOrEqual, HasBits];
        let signed = [Less, LessOrEqual, Greater, GreaterOrEqual];
        std::array::from_fn(|at| unsigned.get(at).copied().unwrap_or_else(|| signed[at - unsigned.len()]))
    }

    #[test]
    fn every_comparison_says_the_same_in_the_kernels_words() {
        let arch = MACHINES[0].2;
        for comparison in comparisons() {
            for (right, size) in NUMBERS.into_iter().flat_map(|right| [1, 2, 4, 8].map(|size| (right, size))) {
                let condition = Operand::Part { register: SHOWN[0], size }.is(comparison, right);
                if condition.check(arch).is_err() {
                    continue;
                }
                let Some(clauses) = clauses(&condition) else { continue };
                for left in NUMBERS {
                    let said = holds(&clauses, |_| Some(left));
                    assert_eq!(said, condition.holds(arch, &mut |_| Some(left)), "{left:#x} {comparison:?} {right:#x}");
                    if let Some(filter) = of(&condition) {
                        assert_eq!(
                            filter.relation.holds(left, filter.value),
                            said,
                            "{left:#x} {comparison:?} {right:#x}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn joined_conditions_are_clauses_of_which_each_list_begins_once() {
        let arch = MACHINES[0].2;
        let is = |at: usize, right| Operand::Register(SHOWN[at]).is(Comparison::Equal, right);
        let condition = is(0, 1).or(is(0, 2)).and(is(1, 3).or(is(1, 4).and(is(2, 5))));
        let clauses = clauses(&condition).unwrap();
        let begins: Vec<bool> = clauses.iter().map(|clause| clause.begins).collect();
        assert_eq!(begins, [false, false, true, false, false, true, false, true, false, false]);
        for values in (0..216).map(|number| [number % 6, number / 6 % 6, number / 36]) {
            let number = |value| match value {
                Value::Register { number, .. } => {
                    (0..3).find(|at| arch::word(SHOWN[*at]) == Some(number)).map(|at| values[at])
                }
                _ => None,
            };
            let mut register = |operand: &Operand| match operand {
                Operand::Register(reg) => (0..3).find(|at| SHOWN[*at] == *reg).map(|at| values[at]),
                _ => None,
            };
            assert_eq!(holds(&clauses, number), condition.holds(arch, &mut register), "{values:?}");
        }
        assert!(super::clauses(&Operand::Arrivals.is(Comparison::Equal, 1)).is_none());
    }
}
