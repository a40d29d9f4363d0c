//! Sites: one site of the channel for all breakpoints of the session at an address.

use wire::site::{self, Memory, action};

use super::filter;
use super::recorder::MEMORY;
use crate::{Breakpoint, BreakpointId, Pid, Report, Spec, Tid};

/// A purpose of the session itself for a site, beside the user's breakpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Internal {
    /// The program's entry point.
    Entry,
    /// After the loader's system call that maps code.
    Mapped,
    /// The function that the loader calls for debuggers.
    Loader,
}

/// A site of the channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// The breakpoints at the site, oldest first.
    pub(super) ids: Vec<BreakpointId>,
    pub(super) internal: Option<Internal>,
    /// The threads that are to run to the site.
    pub(super) targets: Vec<Target>,
    /// The site as set in the kernel.
    pub(super) asked: Option<site::Site>,
    /// Arrivals before the kernel's site was set.
    pub(super) before: u64,
}

/// A breakpoint. Its hits are the arrivals; with a condition they are counted here, and so are the arrivals of one-shot breakpoints and of
/// those of a single thread.
#[derive(Clone, Debug)]
pub(super) struct Own {
    /// The breakpoint; its `arrivals` are those of held threads, counted here.
    pub(super) breakpoint: Breakpoint,
    /// Arrivals at the site before the breakpoint was inserted.
    pub(super) since: u64,
    /// Whether the module can record hits.
    pub(super) records: bool,
}

impl Own {
    /// Whether the thread need not be held for the breakpoint where the module records the hits of the site. Where the site has others, the
    /// module evaluates no condition.
    fn leaves(&self, has_others: bool) -> bool {
        let Spec { report, condition, ignore, once, thread, text, stack, .. } = &self.breakpoint.spec;
        let is_plain = *ignore == 0 && !once && thread.is_none() && !(has_others && condition.is_some());
        let is_told = *report == Report::Record && self.records && *text == 0 && !stack;
        is_plain && (is_told || *report == Report::Count && condition.is_none())
    }

    /// The breakpoint after this number of arrivals at the site.
    pub(super) fn after(&self, arrivals: u64) -> Breakpoint {
        if self.breakpoint.spec.once || self.breakpoint.spec.thread.is_some() {
            return self.breakpoint.clone();
        }
        let arrivals = arrivals.saturating_sub(self.since);
        let hits = if self.breakpoint.spec.condition.is_some() { self.breakpoint.hits } else { arrivals };
        Breakpoint { arrivals, hits, ..self.breakpoint.clone() }
    }
}

impl Site {
    /// The site that the kernel should have; `None` if it is not needed.
    pub(super) fn wanted(&self, address: u64, breakpoints: &[Option<Own>], narrow: bool) -> Option<site::Site> {
        let is_users = self.internal.is_none() && self.targets.is_empty();
        if self.ids.is_empty() && is_users {
            return None;
        }
        let owns = || self.ids.iter().filter_map(|id| breakpoints.get(id.0 as usize)?.as_ref());
        let specs = || owns().map(|own| &own.breakpoint.spec);
        // The kernel knows no one-shot breakpoints and none of single threads: such arrivals are looked at here.
        let is_plain = |spec: &Spec| !spec.once && spec.thread.is_none();
        let counts = specs().all(|spec| is_plain(spec) && spec.report == Report::Count && spec.condition.is_none());
        if is_users && counts {
            return Some(site::Site { address, actions: 0, memory: Memory::NONE, condition: None });
        }
        let is_recorded = is_users && !narrow && owns().all(|own| own.leaves(self.ids.len() > 1));
        let condition = match (is_users, self.ids.as_slice(), specs().next()) {
            (true, [_], Some(spec)) if is_plain(spec) => {
                spec.condition.as_ref().and_then(|condition| filter::of(condition, narrow))
            }
            _ => None,
        };
        // A condition that the kernel does not evaluate is looked at here.
        if is_recorded && condition.is_some() == specs().any(|spec| spec.condition.is_some()) {
            let actions = action::RECORD | action::REGISTERS;
            return Some(site::Site { address, actions, memory: Memory::stack(MEMORY), condition });
        }
        Some(site::Site { address, actions: action::HOLD, memory: Memory::NONE, condition })
    }

    /// Whether the kernel evaluates the condition of the site's only breakpoint.
    pub(super) fn is_filtered(&self) -> bool {
        self.asked.is_some_and(|asked| asked.condition.is_some())
    }
}

/// A thread that is to run to a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) tid: Tid,
    /// The stack pointer of the frame to which the thread runs. A function that frees its arguments returns up to 64 KiB above it.
    pub(super) frame: Option<u64>,
}

/// Where the user lets a thread run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Past one instruction.
    Step(Pid),
    /// To a site, which has the thread among its targets.
    Site(Pid, u64),
}
