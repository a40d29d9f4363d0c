use std::fmt;

use stepping::Exit;

use crate::core::Passing;
use crate::{Address, NoJump, Spec};

/// The id of a breakpoint in its process. The copies in a forked child have the same ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BreakpointId(pub u32);

impl fmt::Display for BreakpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
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
    /// A jump at the site leads to code that counts and runs a copy, without a trap unless a condition holds.
    Jumped,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    pub(crate) id: BreakpointId,
    pub(crate) spec: Spec,
    pub(crate) method: Method,
    pub(crate) hits: u64,
    pub(crate) arrivals: u64,
    /// The next breakpoint at the same site.
    pub(crate) next: Option<BreakpointId>,
    pub(crate) active: bool,
    /// Why the site has no jump.
    pub(crate) no_jump: Option<NoJump>,
    /// The part of the site's counter that is not the breakpoint's, or that `hits` and `arrivals` contain already.
    pub(crate) since: u64,
}

impl Breakpoint {
    /// The breakpoint with its share of the site's counter.
    pub(crate) fn with_counter(&self, counter: u64) -> Breakpoint {
        let mut breakpoint = self.clone();
        breakpoint.add_counter(counter);
        breakpoint
    }

    /// Adds the breakpoint's share of the site's counter.
    pub(crate) fn add_counter(&mut self, counter: u64) {
        self.count(counter.wrapping_sub(self.since));
        self.since = counter;
    }

    /// Counts arrivals that no tracer saw, or takes some back. Whether one is a hit by a condition the tracer alone decides.
    pub(crate) fn count(&mut self, arrivals: u64) {
        self.arrivals = self.arrivals.wrapping_add(arrivals);
        if self.spec.condition.is_none() {
            self.hits = self.hits.wrapping_add(arrivals);
        }
    }

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
    /// Why a breakpoint instruction stands at the site. `None`: a jump does ([`Method::Jumped`]).
    pub fn no_jump(&self) -> Option<NoJump> {
        self.no_jump
    }
    /// Number of arrivals for which the condition held, including ignored ones.
    pub fn hits(&self) -> u64 {
        self.hits
    }
    /// Number of arrivals: executions of the instruction, by the breakpoint's thread if it has one.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }
    /// Whether the breakpoint still stands. The debuggee may have unmapped its site, its thread may have ended, and a one-shot breakpoint
    /// was hit.
    pub fn is_active(&self) -> bool {
        self.active
    }
}
