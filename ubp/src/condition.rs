//! Conditions of breakpoints.

use std::fmt;
use std::sync::Arc;

use crate::Arch;
use crate::arch::{self, Reg};

/// The left side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operand {
    /// A general register, the instruction pointer or the flags: eight bytes, or four in 32-bit programs.
    Register(Reg),
    /// The lowest bytes of such a register.
    Part {
        /// The register.
        register: Reg,
        /// Bytes: 1, 2, 4 or 8.
        size: u8,
    },
    /// Memory at `base + offset`. If it cannot be read, the comparison does not hold.
    Memory {
        /// A general register, or `None` for an absolute address.
        base: Option<Reg>,
        /// Offset from the base in bytes.
        offset: i64,
        /// Bytes: 1, 2, 4 or 8.
        size: u8,
    },
    /// Number of arrivals at the breakpoint, including this one.
    Arrivals,
}

impl Operand {
    /// The condition that compares the operand with `right`.
    ///
    /// ```
    /// use ubp::{Comparison, Condition, Operand};
    ///
    /// let third = Operand::Arrivals.is(Comparison::Equal, 3);
    /// let either = third.or(Operand::Arrivals.is(Comparison::Above, 10));
    /// assert!(matches!(either, Condition::Any(_)));
    /// ```
    pub fn is(self, comparison: Comparison, right: u64) -> Condition {
        Condition::Compare { left: self, comparison, right }
    }

    /// The operand's size in bytes.
    fn size(self, arch: Arch) -> u8 {
        match self {
            Operand::Register(_) => arch.width() as u8,
            Operand::Part { size, .. } | Operand::Memory { size, .. } => size,
            Operand::Arrivals => 8,
        }
    }

    /// The register that the operand reads.
    fn register(self) -> Option<Reg> {
        match self {
            Operand::Register(register) | Operand::Part { register, .. } => Some(register),
            Operand::Memory { base, .. } => base,
            Operand::Arrivals => None,
        }
    }

    pub(crate) fn check(self, arch: Arch) -> Result<(), ConditionProblem> {
        let size = self.size(arch);
        if !matches!(size, 1 | 2 | 4 | 8) || matches!(self, Operand::Part { .. }) && usize::from(size) > arch.width() {
            return Err(ConditionProblem::Size(size));
        }
        match self.register().filter(|&register| !arch::is_comparable(register, arch)) {
            Some(register) => Err(ConditionProblem::Register(register)),
            None => Ok(()),
        }
    }
}

/// A relation between two numbers, in the terms of the SDM: *below* and *above* compare unsigned numbers, *less* and *greater* signed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Comparison {
    /// Left equals right.
    Equal,
    /// Left differs from right.
    NotEqual,
    /// Left is below right.
    Below,
    /// Left is below or equal to right.
    BelowOrEqual,
    /// Left is above right.
    Above,
    /// Left is above or equal to right.
    AboveOrEqual,
    /// Left is less than right.
    Less,
    /// Left is less than or equal to right.
    LessOrEqual,
    /// Left is greater than right.
    Greater,
    /// Left is greater than or equal to right.
    GreaterOrEqual,
    /// All bits of right are set in left.
    HasBits,
}

impl Comparison {
    /// Whether the comparison holds for `left` and `right`. Signed comparisons take both for numbers of 64 bits.
    pub fn holds(self, left: u64, right: u64) -> bool {
        let signed = (left as i64, right as i64);
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Below => left < right,
            Comparison::BelowOrEqual => left <= right,
            Comparison::Above => left > right,
            Comparison::AboveOrEqual => left >= right,
            Comparison::Less => signed.0 < signed.1,
            Comparison::LessOrEqual => signed.0 <= signed.1,
            Comparison::Greater => signed.0 > signed.1,
            Comparison::GreaterOrEqual => signed.0 >= signed.1,
            Comparison::HasBits => left & right == right,
        }
    }

    /// The comparison that holds exactly where this one does not; `None` for [`Comparison::HasBits`].
    pub fn opposite(self) -> Option<Comparison> {
        use Comparison::{
            Above, AboveOrEqual, Below, BelowOrEqual, Equal, Greater, GreaterOrEqual, HasBits, Less, LessOrEqual,
            NotEqual,
        };
        Some(match self {
            Equal => NotEqual,
            NotEqual => Equal,
            Below => AboveOrEqual,
            AboveOrEqual => Below,
            Above => BelowOrEqual,
            BelowOrEqual => Above,
            Less => GreaterOrEqual,
            GreaterOrEqual => Less,
            Greater => LessOrEqual,
            LessOrEqual => Greater,
            HasBits => return None,
        })
    }

    /// Whether the comparison takes both sides for signed numbers.
    pub fn is_signed(self) -> bool {
        use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
        matches!(self, Less | LessOrEqual | Greater | GreaterOrEqual)
    }

    /// Refuses a comparison of a left side of `bits` bits, which is at least `low`, that has the same result for every left side.
    fn check(self, bits: u32, low: u64, right: u64) -> Result<(), ConditionProblem> {
        let unused = 64 - bits;
        let (always, never) = if self.is_signed() {
            let (min, max) = (i64::MIN >> unused, i64::MAX >> unused);
            let right = right as i64;
            if right < min || right > max {
                return Err(ConditionProblem::TooWide);
            }
            match self {
                Comparison::Less => (false, right == min),
                Comparison::LessOrEqual => (right == max, false),
                Comparison::Greater => (false, right == max),
                _ => (right == min, false),
            }
        } else {
            let max = u64::MAX >> unused;
            if right > max {
                return Err(ConditionProblem::TooWide);
            }
            match self {
                Comparison::Equal => (false, right < low),
                Comparison::NotEqual => (right < low, false),
                Comparison::Below => (false, right <= low),
                Comparison::BelowOrEqual => (right == max, right < low),
                Comparison::Above => (right < low, right == max),
                Comparison::AboveOrEqual => (right <= low, false),
                _ => (right == 0, false),
            }
        };
        match (always, never) {
            (true, _) => Err(ConditionProblem::Always),
            (_, true) => Err(ConditionProblem::Never),
            _ => Ok(()),
        }
    }
}

/// The deepest nesting of conditions.
const DEEPEST: u32 = 64;

/// What decides whether an arrival is a hit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Condition {
    /// A comparison, of as many bytes as the left side has. [`Operand::is`] makes one.
    Compare {
        /// The left side.
        left: Operand,
        /// The comparison.
        comparison: Comparison,
        /// The right side; a negative number as `-1_i64 as u64`.
        right: u64,
    },
    /// All of these conditions hold.
    All(Arc<[Condition]>),
    /// One of these conditions holds.
    Any(Arc<[Condition]>),
}

impl Condition {
    /// The condition that holds if this one and `other` do.
    pub fn and(self, other: Condition) -> Condition {
        Condition::All(match self {
            Condition::All(parts) => parts.iter().cloned().chain([other]).collect(),
            first => Arc::new([first, other]),
        })
    }

    /// The condition that holds if this one or `other` does.
    pub fn or(self, other: Condition) -> Condition {
        Condition::Any(match self {
            Condition::Any(parts) => parts.iter().cloned().chain([other]).collect(),
            first => Arc::new([first, other]),
        })
    }

    /// Whether the condition holds; `value` reads an operand.
    pub(crate) fn holds(&self, arch: Arch, value: &mut dyn FnMut(&Operand) -> Option<u64>) -> bool {
        match self {
            Condition::Compare { left, comparison, right } => {
                let unused = 64_u32.saturating_sub(8 * u32::from(left.size(arch)));
                value(left).is_some_and(|value| {
                    let high = value.checked_shl(unused).unwrap_or(0);
                    let value = if comparison.is_signed() {
                        (high as i64).checked_shr(unused).unwrap_or(0) as u64
                    } else {
                        high.checked_shr(unused).unwrap_or(0)
                    };
                    comparison.holds(value, *right)
                })
            }
            Condition::All(parts) => parts.iter().all(|part| part.holds(arch, value)),
            Condition::Any(parts) => parts.iter().any(|part| part.holds(arch, value)),
        }
    }

    /// Lists of clauses, of which one has only clauses that hold if and only if the condition holds. `clause` makes a clause of a comparison. `None`:
    /// a comparison has none, or there are more than `most`.
    pub(crate) fn alternatives<C: Clone>(
        &self,
        most: usize,
        clause: &impl Fn(Operand, Comparison, u64) -> Option<C>,
    ) -> Option<Vec<Vec<C>>> {
        let lists = match self {
            Condition::Compare { left, comparison, right } => vec![vec![clause(*left, *comparison, *right)?]],
            Condition::Any(parts) => {
                let mut lists = Vec::new();
                for part in parts.iter() {
                    lists.extend(part.alternatives(most, clause)?);
                }
                lists
            }
            Condition::All(parts) => {
                let mut lists = vec![Vec::new()];
                for part in parts.iter() {
                    let more = part.alternatives(most, clause)?;
                    let joined = |list: &Vec<C>| {
                        let list = list.clone();
                        more.iter().map(move |other| list.iter().chain(other).cloned().collect()).collect::<Vec<_>>()
                    };
                    lists = lists.iter().flat_map(joined).collect();
                    if lists.len() > most {
                        return None;
                    }
                }
                lists
            }
        };
        (lists.iter().map(Vec::len).sum::<usize>() <= most).then_some(lists)
    }

    /// Whether a part of the condition asks for the number of arrivals.
    pub(crate) fn counts_arrivals(&self) -> bool {
        match self {
            Condition::Compare { left, .. } => *left == Operand::Arrivals,
            Condition::All(parts) | Condition::Any(parts) => parts.iter().any(Condition::counts_arrivals),
        }
    }

    /// Refuses a condition that cannot be evaluated, and one with a comparison whose result never changes.
    pub(crate) fn check(&self, arch: Arch) -> Result<(), ConditionProblem> {
        self.check_within(arch, DEEPEST)
    }

    fn check_within(&self, arch: Arch, depth: u32) -> Result<(), ConditionProblem> {
        match self {
            Condition::Compare { left, comparison, right } => {
                left.check(arch)?;
                let low = u64::from(*left == Operand::Arrivals);
                comparison.check(8 * u32::from(left.size(arch)), low, *right)
            }
            Condition::All(parts) | Condition::Any(parts) => {
                if parts.is_empty() {
                    return Err(ConditionProblem::Empty);
                }
                let depth = depth.checked_sub(1).ok_or(ConditionProblem::TooDeep)?;
                parts.iter().try_for_each(|part| part.check_within(arch, depth))
            }
        }
    }
}

/// Why a breakpoint cannot have a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConditionProblem {
    /// The right side does not fit in as many bytes as the left side has.
    TooWide,
    /// A comparison holds for every left side.
    Always,
    /// A comparison holds for no left side.
    Never,
    /// No comparison can read the register: it is no general register, instruction pointer or flags, or 32-bit programs do not have it.
    Register(Reg),
    /// An operand cannot have this number of bytes.
    Size(u8),
    /// [`Condition::All`] or [`Condition::Any`] has no part.
    Empty,
    /// Conditions are nested deeper than 64 times.
    TooDeep,
}

impl fmt::Display for ConditionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConditionProblem::TooWide => f.write_str("its right side does not fit in the bytes of its left side"),
            ConditionProblem::Always => f.write_str("a comparison always holds"),
            ConditionProblem::Never => f.write_str("a comparison never holds"),
            ConditionProblem::Register(register) => write!(f, "it cannot read the register {register}"),
            ConditionProblem::Size(size) => write!(f, "an operand cannot have {size} bytes"),
            ConditionProblem::Empty => f.write_str("it has no part"),
            ConditionProblem::TooDeep => f.write_str("it is nested deeper than 64 times"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Comparison::{
        self, Above, AboveOrEqual, Below, BelowOrEqual, Equal, Greater, GreaterOrEqual, HasBits, Less, LessOrEqual,
        NotEqual,
    };
    use super::ConditionProblem::{self, Always, Never, TooWide};
    use super::{Condition, Operand};
    use crate::arch::{MACHINES, Reg, SHOWN};

    const ALL: [Comparison; 11] = [
        Equal,
        NotEqual,
        Below,
        BelowOrEqual,
        Above,
        AboveOrEqual,
        Less,
        LessOrEqual,
        Greater,
        GreaterOrEqual,
        HasBits,
    ];

    #[test]
    fn comparisons_hold_for_what_they_name_alone() {
        let holding = |left, right| -> Vec<Comparison> { ALL.into_iter().filter(|c| c.holds(left, right)).collect() };
        assert_eq!(holding(6, 6), [Equal, BelowOrEqual, AboveOrEqual, LessOrEqual, GreaterOrEqual, HasBits]);
        assert_eq!(holding(5, 6), [NotEqual, Below, BelowOrEqual, Less, LessOrEqual]);
        assert_eq!(holding(7, 6), [NotEqual, Above, AboveOrEqual, Greater, GreaterOrEqual, HasBits]);
        assert_eq!(holding(u64::MAX, 1), [NotEqual, Above, AboveOrEqual, Less, LessOrEqual, HasBits]);
        assert_eq!(holding(1, u64::MAX), [NotEqual, Below, BelowOrEqual, Greater, GreaterOrEqual]);
    }

    #[test]
    fn a_comparison_of_one_byte_is_refused_if_and_only_if_all_bytes_compare_alike() {
        let arch = MACHINES[0].2;
        for comparison in ALL {
            for right in (0..=300).chain((-200..0_i64).map(|right| right as u64)) {
                let condition = Operand::Part { register: SHOWN[0], size: 1 }.is(comparison, right);
                let holding = (0..=255).filter(|&byte| condition.holds(arch, &mut |_| Some(0xabcd00 | byte))).count();
                let fits = if comparison.is_signed() { (-128..128).contains(&(right as i64)) } else { right < 256 };
                let expected = match holding {
                    _ if !fits => Err(TooWide),
                    0 => Err(Never),
                    256 => Err(Always),
                    _ => Ok(()),
                };
                assert_eq!(condition.check(arch), expected, "{comparison:?} {right:#x}");
            }
        }
    }

    #[test]
    fn a_breakpoint_is_never_evaluated_before_its_first_arrival() {
        let of = |comparison, right| Operand::Arrivals.is(comparison, right).check(MACHINES[0].2);
        let expected = [(Equal, Err(Never)), (NotEqual, Err(Always)), (BelowOrEqual, Err(Never)), (Above, Err(Always))];
        for (comparison, answer) in expected {
            assert_eq!((of(comparison, 0), of(comparison, 1)), (answer, Ok(())), "{comparison:?}");
        }
        assert_eq!((of(Below, 1), of(AboveOrEqual, 1)), (Err(Never), Err(Always)));
    }

    #[test]
    fn what_cannot_be_read_is_refused_wherever_it_stands_in_a_condition() {
        let arch = MACHINES[0].2;
        let good = Operand::Register(SHOWN[0]).is(Equal, 1);
        let vector = Reg::vector(0);
        let memory = |base, size| Operand::Memory { base, offset: 0, size };
        for (operand, problem) in [
            (Operand::Register(vector), ConditionProblem::Register(vector)),
            (memory(Some(vector), 4), ConditionProblem::Register(vector)),
            (memory(None, 3), ConditionProblem::Size(3)),
            (memory(None, 0), ConditionProblem::Size(0)),
            (Operand::Part { register: SHOWN[0], size: 16 }, ConditionProblem::Size(16)),
        ] {
            let bad = operand.is(Equal, 1);
            for condition in [bad.clone(), good.clone().and(bad.clone()), good.clone().or(good.clone().and(bad))] {
                assert_eq!(condition.check(arch), Err(problem), "{condition:?}");
            }
        }
        assert_eq!(Condition::All([].into()).check(arch), Err(ConditionProblem::Empty));
        let deep = |depth| (0..depth).fold(good.clone(), |inner, _| Condition::Any([inner].into()));
        assert_eq!((deep(64).check(arch), deep(65).check(arch)), (Ok(()), Err(ConditionProblem::TooDeep)));
    }

    #[test]
    fn parts_are_joined_as_their_names_say() {
        let arch = MACHINES[0].2;
        let below = |right| Operand::Arrivals.is(Below, right);
        let above = |right| Operand::Arrivals.is(Above, right);
        let middle = above(3).and(below(6)).and(Operand::Arrivals.is(NotEqual, 4));
        let ends = below(3).or(above(6));
        let holding = |condition: &Condition| -> Vec<u64> {
            (1..9).filter(|&arrivals| condition.holds(arch, &mut |_| Some(arrivals))).collect()
        };
        assert_eq!((holding(&middle), holding(&ends)), (vec![5], vec![1, 2, 7, 8]));
        assert!(!middle.holds(arch, &mut |_| None));
    }
}
