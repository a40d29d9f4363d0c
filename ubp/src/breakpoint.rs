use std::fmt;

use stepping::Exit;

use crate::Address;
use crate::arch::Reg;
use crate::core::Passing;

/// A breakpoint of one process; a forked child's copies keep their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BreakpointId(pub u32);

impl fmt::Display for BreakpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What to do at a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Report {
    /// Hold the thread and deliver an event.
    #[default]
    Event,
    /// Count; the thread goes on at once.
    Count,
}

/// The left side of a [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operand {
    /// A general register, the instruction pointer or the flags.
    Register(Reg),
    /// Memory at `base + offset`, zero-extended; an address that cannot be read makes the condition false.
    Memory {
        /// A general register, or none for an absolute address.
        base: Option<Reg>,
        /// Bytes from the base.
        offset: i64,
        /// 1, 2, 4 or 8 bytes.
        size: u8,
    },
    /// Arrivals at the breakpoint, this one included.
    Arrivals,
}

/// How the sides of a [`Condition`] compare; all comparisons are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Left below right.
    Below,
    /// Left below or equal to right.
    BelowOrEqual,
    /// Left above right.
    Above,
    /// Left above or equal to right.
    AboveOrEqual,
    /// All bits of right are set in left.
    HasBits,
}

impl Comparison {
    /// Whether `left` and `right` compare so.
    pub fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Below => left < right,
            Comparison::BelowOrEqual => left <= right,
            Comparison::Above => left > right,
            Comparison::AboveOrEqual => left >= right,
            Comparison::HasBits => left & right == right,
        }
    }
}

/// One comparison that decides whether an arrival is a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// What is looked at.
    pub left: Operand,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub right: u64,
}

/// A breakpoint to insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Spec {
    /// The first byte of an instruction.
    pub address: Address,
    /// What to do at a hit.
    pub report: Report,
    /// What makes an arrival a hit; nothing: every arrival is.
    pub condition: Option<Condition>,
    /// This many first hits are counted but not reported.
    pub ignore: u64,
}

impl Spec {
    /// Holds the thread at every arrival at `address`.
    pub fn event(address: Address) -> Spec {
        Spec { address, ..Spec::default() }
    }

    /// Counts arrivals at `address`.
    pub fn count(address: Address) -> Spec {
        Spec { address, report: Report::Count, ..Spec::default() }
    }
}

/// How threads pass a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// The instruction is emulated.
    Emulated,
    /// A copy runs and jumps back: no second trap.
    Boosted,
    /// A copy runs and traps behind the instruction.
    Trapped,
    /// A copy is single-stepped.
    Stepped,
}

impl Method {
    /// That of a way to pass.
    pub(crate) fn of(passing: &Passing) -> Method {
        match passing {
            Passing::Emulate(..) => Method::Emulated,
            Passing::Slot(code) => match code.exit {
                Exit::Jump => Method::Boosted,
                Exit::Trap(_) => Method::Trapped,
                _ => Method::Stepped,
            },
        }
    }
}

/// A breakpoint that stands in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    pub(crate) id: BreakpointId,
    pub(crate) spec: Spec,
    pub(crate) method: Method,
    pub(crate) hits: u64,
    pub(crate) arrivals: u64,
    /// The next breakpoint at the same site.
    pub(crate) next: Option<BreakpointId>,
    pub(crate) active: bool,
}

impl Breakpoint {
    /// Its number.
    pub fn id(&self) -> BreakpointId {
        self.id
    }
    /// The site.
    pub fn address(&self) -> Address {
        self.spec.address
    }
    /// What was asked for.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }
    /// How threads pass it.
    pub fn method(&self) -> Method {
        self.method
    }
    /// Arrivals for which the condition held, the ignored ones included.
    pub fn hits(&self) -> u64 {
        self.hits
    }
    /// All arrivals: executions of the instruction.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }
    /// Whether it stands in mapped code: the debuggee may have unmapped the site since.
    pub fn is_active(&self) -> bool {
        self.active
    }
}

#[cfg(test)]
mod tests {
    use super::Comparison::{self, Above, AboveOrEqual, Below, BelowOrEqual, Equal, HasBits, NotEqual};

    #[test]
    fn comparisons_are_unsigned_and_hold_for_what_they_name_alone() {
        let all = [Equal, NotEqual, Below, BelowOrEqual, Above, AboveOrEqual, HasBits];
        let holding = |left, right| -> Vec<Comparison> { all.into_iter().filter(|c| c.holds(left, right)).collect() };
        assert_eq!(holding(6, 6), [Equal, BelowOrEqual, AboveOrEqual, HasBits]);
        assert_eq!(holding(5, 6), [NotEqual, Below, BelowOrEqual]);
        assert_eq!(holding(7, 6), [NotEqual, Above, AboveOrEqual, HasBits]);
        assert_eq!(holding(u64::MAX, 1), [NotEqual, Above, AboveOrEqual, HasBits]);
        assert_eq!(holding(1, u64::MAX), [NotEqual, Below, BelowOrEqual]);
    }
}
