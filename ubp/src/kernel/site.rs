//! What stands at an address: one site of the channel for all breakpoints of ours there.

use wire::site::{self, Memory, action};

use super::filter;
use crate::{Breakpoint, BreakpointId, Report};

/// What is wanted of a site beside the user's breakpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Internal {
    /// The program's entry point.
    Entry,
    /// Behind the loader's system call that maps code.
    Mapped,
    /// The loader's function for debuggers.
    Loader,
}

/// A site.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// The breakpoints there, oldest first.
    pub(super) ids: Vec<BreakpointId>,
    pub(super) internal: Option<Internal>,
    /// What stands in the kernel.
    pub(super) asked: Option<site::Site>,
    /// Arrivals before that was set.
    pub(super) before: u64,
}

/// A breakpoint with what is kept of it alone. Its hits are those that were told of where it has a condition, else its arrivals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    /// Its arrivals are those that were looked at here, of held threads.
    pub(super) breakpoint: Breakpoint,
    /// Arrivals at the site before it was inserted.
    pub(super) since: u64,
}

impl Own {
    /// As it is after so many arrivals at the site.
    pub(super) fn after(&self, arrivals: u64) -> Breakpoint {
        let arrivals = arrivals.saturating_sub(self.since);
        let hits = if self.breakpoint.spec.condition.is_some() { self.breakpoint.hits } else { arrivals };
        Breakpoint { arrivals, hits, ..self.breakpoint }
    }
}

impl Site {
    /// What should stand in the kernel for it; nothing where nobody wants anything.
    pub(super) fn wanted(&self, address: u64, breakpoints: &[Option<Own>], narrow: bool) -> Option<site::Site> {
        if self.ids.is_empty() && self.internal.is_none() {
            return None;
        }
        let specs = || self.ids.iter().filter_map(|id| Some(breakpoints.get(id.0 as usize)?.as_ref()?.breakpoint.spec));
        let counts = specs().all(|spec| spec.report == Report::Count && spec.condition.is_none());
        if self.internal.is_none() && counts {
            return Some(site::Site { address, actions: 0, memory: Memory::NONE, condition: None });
        }
        let condition = match (self.internal, self.ids.as_slice(), specs().next()) {
            (None, [_], Some(spec)) => spec.condition.and_then(|condition| filter::of(&condition, narrow)),
            _ => None,
        };
        Some(site::Site { address, actions: action::HOLD, memory: Memory::NONE, condition })
    }

    /// Whether the kernel holds only threads for which the condition of the one breakpoint there holds.
    pub(super) fn is_filtered(&self) -> bool {
        self.asked.is_some_and(|asked| asked.condition.is_some())
    }
}
