//! What the adapter keeps of a program.

use std::collections::HashMap;

use ubp::{BreakpointId, Pid};

use crate::filter::Bound;
use crate::process::Space;

/// A process.
pub(super) struct Program {
    pub(super) space: Space,
    /// The client attached to it, and did not start it.
    pub(super) is_attached: bool,
    /// The client does not see it: it runs in its parent's memory until it executes a program, and is detached then.
    pub(super) is_leaving: bool,
    /// The breakpoints in it.
    pub(super) placed: HashMap<BreakpointId, Placed>,
}

/// A breakpoint in a process.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// The number of the client's breakpoint.
    pub(super) number: u64,
    pub(super) address: u64,
    /// The condition, where the breakpoint's own does not say all.
    pub(super) bound: Option<Bound>,
}

impl Program {
    pub(super) fn new(pid: Pid, is_attached: bool) -> Program {
        Program { space: Space::new(pid), is_attached, is_leaving: false, placed: HashMap::new() }
    }

    /// The child of a process: the breakpoints are copies. `shares`: it runs in its parent's memory.
    pub(super) fn fork(&self, child: Pid, shares: bool) -> Program {
        Program {
            space: self.space.fork(child, shares),
            is_attached: self.is_attached,
            is_leaving: false,
            placed: self.placed.clone(),
        }
    }

    /// The addresses of a breakpoint, ascending.
    pub(super) fn addresses(&self, number: u64) -> Vec<u64> {
        let own = self.placed.values().filter(|placed| placed.number == number);
        let mut addresses: Vec<u64> = own.map(|placed| placed.address).collect();
        addresses.sort_unstable();
        addresses
    }
}
