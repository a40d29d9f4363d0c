//! Filters: which occurrences of an event a rule takes.

use super::glob::Glob;
use super::reader::Reader;
use super::value::Value;
use crate::{Arch, Comparison, Condition, Pid, Tid};

/// The deepest nesting of filters.
const DEEPEST: u32 = 16;

/// What decides whether a rule takes an occurrence. It is data, of at most 64 parts, so that its evaluation is bounded.
///
/// A comparison whose value cannot be read decides nothing, and neither does its negation: an occurrence is taken only if the rest decides
/// that it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Filter {
    /// All of these hold; with no part it always holds.
    All(Vec<Filter>),
    /// One of these holds; with no part it never holds.
    Any(Vec<Filter>),
    /// This does not hold.
    Not(Box<Filter>),
    /// A comparison, of as many bytes as the left side has.
    Compare {
        /// The left side.
        left: Value,
        /// The comparison.
        comparison: Comparison,
        /// The right side; a negative number as `-1_i64 as u64`.
        right: u64,
    },
    /// The process.
    Process(Pid),
    /// The thread.
    Thread(Tid),
    /// The path of the process's program, or its last component.
    Executable(Glob),
}

impl Default for Filter {
    /// The filter that always holds.
    fn default() -> Filter {
        Filter::ALWAYS
    }
}

impl Filter {
    /// The filter that always holds.
    pub const ALWAYS: Filter = Filter::All(Vec::new());

    /// The number of tests that an occurrence passes at least: those of all parts of [`Filter::All`], and of the part of [`Filter::Any`] with
    /// the fewest. More tests make a filter more constrained.
    pub fn constraints(&self) -> usize {
        match self {
            Filter::All(parts) => parts.iter().map(Filter::constraints).sum(),
            Filter::Any(parts) => parts.iter().map(Filter::constraints).min().unwrap_or(0),
            Filter::Not(part) => part.constraints(),
            _ => 1,
        }
    }

    /// The number of parts, itself included.
    pub(super) fn parts(&self) -> usize {
        match self {
            Filter::All(parts) | Filter::Any(parts) => 1 + parts.iter().map(Filter::parts).sum::<usize>(),
            Filter::Not(part) => 1 + part.parts(),
            _ => 1,
        }
    }

    /// Whether it is nested deeper than filters may be.
    pub(super) fn is_too_deep(&self) -> bool {
        self.depth(DEEPEST).is_none()
    }

    fn depth(&self, left: u32) -> Option<()> {
        let left = left.checked_sub(1)?;
        match self {
            Filter::All(parts) | Filter::Any(parts) => parts.iter().try_for_each(|part| part.depth(left)),
            Filter::Not(part) => part.depth(left),
            _ => Some(()),
        }
    }

    /// All values that it compares.
    pub(super) fn values(&self, found: &mut Vec<Value>) {
        match self {
            Filter::All(parts) | Filter::Any(parts) => parts.iter().for_each(|part| part.values(found)),
            Filter::Not(part) => part.values(found),
            Filter::Compare { left, .. } => found.push(*left),
            _ => {}
        }
    }

    /// Whether it holds; `None` if what can be read does not decide it.
    pub(super) fn holds(&self, pid: Pid, tid: Tid, executable: &[u8], reader: &mut Reader<'_>) -> Option<bool> {
        match self {
            Filter::All(parts) => join(parts, false, |part| part.holds(pid, tid, executable, reader)),
            Filter::Any(parts) => join(parts, true, |part| part.holds(pid, tid, executable, reader)),
            Filter::Not(part) => part.holds(pid, tid, executable, reader).map(|holds| !holds),
            Filter::Compare { left, comparison, right } => {
                let value = reader.value(*left)?;
                match reader.arch().and_then(|arch| Some((left.operand(arch)?, arch))) {
                    Some((operand, arch)) => Some(operand.is(*comparison, *right).holds(arch, &mut |_| Some(value))),
                    None => Some(comparison.holds(value, *right)),
                }
            }
            Filter::Process(wanted) => Some(*wanted == pid),
            Filter::Thread(wanted) => Some(*wanted == tid),
            Filter::Executable(glob) => Some(glob.matches(executable)),
        }
    }

    /// A condition of a breakpoint that holds wherever the filter does. The filter may hold less often. `None`: no part of the filter can be
    /// a condition.
    pub(super) fn condition(&self, arch: Arch) -> Option<Condition> {
        let condition = self.implied(arch, false)?;
        condition.check(arch).is_ok().then_some(condition)
    }

    /// A condition that holds wherever this does; if `negated`, wherever this does not.
    fn implied(&self, arch: Arch, negated: bool) -> Option<Condition> {
        match (self, negated) {
            (Filter::Not(part), _) => part.implied(arch, !negated),
            // A part of a conjunction that is no condition is left to the filter.
            (Filter::All(parts), false) | (Filter::Any(parts), true) => {
                let conditions = parts.iter().filter_map(|part| part.implied(arch, negated));
                combine(conditions.filter(|part| part.check(arch).is_ok()).collect(), Condition::All)
            }
            (Filter::Any(parts), false) | (Filter::All(parts), true) => {
                let conditions: Option<Vec<_>> = parts.iter().map(|part| part.implied(arch, negated)).collect();
                combine(conditions?, Condition::Any)
            }
            (Filter::Compare { left, comparison, right }, _) => {
                let comparison = if negated { comparison.opposite()? } else { *comparison };
                Some(left.operand(arch)?.is(comparison, *right))
            }
            _ => None,
        }
    }
}

fn combine(mut parts: Vec<Condition>, join: fn(std::sync::Arc<[Condition]>) -> Condition) -> Option<Condition> {
    match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(join(parts.into())),
    }
}

/// Joins parts: one that answers `deciding` decides, else one that answers nothing leaves it open.
fn join(parts: &[Filter], deciding: bool, mut holds: impl FnMut(&Filter) -> Option<bool>) -> Option<bool> {
    let mut answer = Some(!deciding);
    for part in parts {
        match holds(part) {
            Some(holds) if holds == deciding => return Some(deciding),
            Some(_) => {}
            None => answer = None,
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operand;
    use crate::arch::{ARGUMENTS, MACHINES};
    use crate::rules::Field;

    fn argument(number: u8, comparison: Comparison, right: u64) -> Filter {
        Filter::Compare { left: Value::Argument(number), comparison, right }
    }

    #[test]
    fn what_is_a_condition_is_pushed_down_and_the_rest_is_left() {
        let arch = MACHINES[0].2;
        let first = Operand::Register(ARGUMENTS[0]);
        let is_3 = argument(0, Comparison::Equal, 3);
        assert_eq!(is_3.condition(arch), Some(first.is(Comparison::Equal, 3)));
        let hits = Filter::Compare { left: Value::Field(Field::Hits), comparison: Comparison::Above, right: 5 };
        // The part about hits is no condition: the breakpoint's condition is the other part.
        let both = Filter::All(vec![is_3.clone(), hits.clone(), Filter::Process(Pid(1))]);
        assert_eq!(both.condition(arch), Some(first.is(Comparison::Equal, 3)));
        // Either part may hold, so that no condition is left.
        assert_eq!(Filter::Any(vec![is_3.clone(), hits]).condition(arch), None);
        let not = Filter::Not(Box::new(Filter::Any(vec![is_3, argument(0, Comparison::Less, 9)])));
        let expected = first.is(Comparison::NotEqual, 3).and(first.is(Comparison::GreaterOrEqual, 9));
        assert_eq!(not.condition(arch), Some(expected));
        assert_eq!(Filter::Not(Box::new(argument(0, Comparison::HasBits, 1))).condition(arch), None);
        assert_eq!(argument(0, Comparison::AboveOrEqual, 0).condition(arch), None);
    }

    #[test]
    fn more_tests_are_more_constraints() {
        let one = argument(0, Comparison::Equal, 3);
        let two = Filter::All(vec![one.clone(), Filter::Process(Pid(1))]);
        assert_eq!((Filter::ALWAYS.constraints(), one.constraints(), two.constraints()), (0, 1, 2));
        assert_eq!(Filter::Any(vec![one, two]).constraints(), 1);
    }

    #[test]
    fn a_part_that_decides_nothing_leaves_a_conjunction_open_unless_another_fails() {
        let parts = [Filter::Process(Pid(1)), Filter::Process(Pid(2))];
        let asked = |answers: [Option<bool>; 2], deciding| {
            join(&parts, deciding, |part| if *part == parts[0] { answers[0] } else { answers[1] })
        };
        assert_eq!(asked([None, Some(false)], false), Some(false));
        assert_eq!(asked([None, Some(true)], false), None);
        assert_eq!(asked([None, Some(true)], true), Some(true));
        assert_eq!(asked([None, Some(false)], true), None);
    }
}
