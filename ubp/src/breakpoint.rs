use std::fmt;

use stepping::Exit;

use crate::Address;
use crate::arch::Reg;
use crate::core::Passing;

/// The id of a breakpoint in its process. The copies in a forked child have the same ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BreakpointId(pub u32);

impl fmt::Display for BreakpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What happens at a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Report {
    /// Hold the thread and deliver an event.
    #[default]
    Event,
    /// Count the hit; the thread continues at once.
    Count,
}

/// The left side of a [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operand {
    /// A general register, the instruction pointer or the flags.
    Register(Reg),
    /// Memory at `base + offset`, zero-extended. If it cannot be read, the condition is false.
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

/// The comparison of a [`Condition`]. All comparisons are unsigned.
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
    /// All bits of right are set in left.
    HasBits,
}

impl Comparison {
    /// Whether the comparison holds for `left` and `right`.
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

/// A comparison that decides whether an arrival is a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// The left side.
    pub left: Operand,
    /// The comparison.
    pub comparison: Comparison,
    /// The right side.
    pub right: u64,
}

/// A breakpoint to insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Spec {
    /// Address of the first byte of an instruction.
    pub address: Address,
    /// What happens at a hit.
    pub report: Report,
    /// The condition that makes an arrival a hit; with `None` every arrival is a hit.
    pub condition: Option<Condition>,
    /// Number of first hits that are counted but not reported.
    pub ignore: u64,
}

impl Spec {
    /// A breakpoint that holds the thread at every arrival at `address`.
    pub fn event(address: Address) -> Spec {
        Spec { address, ..Spec::default() }
    }

    /// A breakpoint that counts arrivals at `address`.
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
    /// A copy runs and jumps back, without a second trap.
    Boosted,
    /// A copy runs and traps after the instruction.
    Trapped,
    /// A copy is single-stepped.
    Stepped,
}

impl Method {
    /// The method of a way to pass a site.
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

/// A breakpoint in a process.
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
    /// The breakpoint's id.
    pub fn id(&self) -> BreakpointId {
        self.id
    }
    /// The address of the breakpoint.
    pub fn address(&self) -> Address {
        self.spec.address
    }
    /// The specification that the breakpoint was inserted with.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }
    /// How threads pass the breakpoint.
    pub fn method(&self) -> Method {
        self.method
    }
    /// Number of arrivals for which the condition held, including ignored ones.
    pub fn hits(&self) -> u64 {
        self.hits
    }
    /// Number of arrivals: executions of the instruction.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }
    /// Whether the breakpoint is still in mapped code. The debuggee may have unmapped its site.
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
