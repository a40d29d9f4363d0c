//! Sites: one site of the channel for all breakpoints of the session at an address.

use wire::site::{self, Memory, Relation, Subject, action};

use super::channel::Channel;
use super::filter;
use super::recorder::MEMORY;
use super::ruled::RuleNumber;
use crate::{Breakpoint, BreakpointId, Pid, Report, Result, Spec, Tid};

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
    /// The rule that it names, and the breakpoint whose condition the rule is.
    pub(super) rule: Option<(RuleNumber, BreakpointId)>,
    /// Arrivals before the kernel's site was set.
    pub(super) before: u64,
    /// Hits by the kernel's count that are not the breakpoint's, as a negative number.
    pub(super) taken_before: u64,
}

/// A breakpoint. Its hits are the arrivals; with a condition they are counted here or by a rule of the kernel. The arrivals of one-shot
/// breakpoints and of those of a single thread are counted here.
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
    /// module evaluates no condition and sums nothing up.
    fn leaves(&self, has_others: bool) -> bool {
        let Spec { report, condition, ignore, once, thread, text, stack, aggregation, .. } = &self.breakpoint.spec;
        let is_decided = condition.is_some() || aggregation.is_some();
        let is_plain = *ignore == 0 && !once && thread.is_none() && !(has_others && is_decided);
        let is_told = *report == Report::Record && self.records && *text == 0 && !stack;
        is_plain && (is_told || *report == Report::Count)
    }

    /// The breakpoint after what the kernel has counted at its site: arrivals, and those that the site's rule took.
    pub(super) fn after(&self, [arrivals, taken]: [u64; 2]) -> Breakpoint {
        if self.breakpoint.spec.once || self.breakpoint.spec.thread.is_some() {
            return self.breakpoint.clone();
        }
        let arrivals = arrivals.saturating_sub(self.since);
        let has_condition = self.breakpoint.spec.condition.is_some();
        let hits = if has_condition { self.breakpoint.hits.wrapping_add(taken) } else { arrivals };
        Breakpoint { arrivals, hits, ..self.breakpoint.clone() }
    }
}

impl Site {
    /// The site that the kernel should have, and the rule that it names; `None` if it is not needed.
    ///
    /// # Errors
    /// The channel does not work.
    pub(super) fn wanted(
        &self,
        address: u64,
        breakpoints: &[Option<Own>],
        narrow: bool,
        channel: &Channel,
    ) -> Result<Option<(site::Site, Option<RuleNumber>)>> {
        let is_users = self.internal.is_none() && self.targets.is_empty();
        if self.ids.is_empty() && is_users {
            return Ok(None);
        }
        let site = |actions, memory, condition| site::Site { address, actions, memory, condition };
        let owns = || self.ids.iter().filter_map(|id| breakpoints.get(id.0 as usize)?.as_ref());
        let specs = || owns().map(|own| &own.breakpoint.spec);
        // The kernel knows no one-shot breakpoints and none of single threads: such arrivals are looked at here.
        let is_plain = |spec: &Spec| !spec.once && spec.thread.is_none();
        let counts = specs().all(|spec| is_plain(spec) && spec.report == Report::Count);
        let is_plain_hit = |spec: &Spec| spec.condition.is_none() && spec.aggregation.is_none();
        if is_users && counts && specs().all(is_plain_hit) {
            return Ok(Some((site(0, Memory::NONE, None), None)));
        }
        // The kernel's registers of 32-bit programs are 32-bit words.
        let alone = match (self.ids.as_slice(), specs().next()) {
            ([_], Some(spec)) if is_users && !narrow && is_plain(spec) => Some(spec),
            _ => None,
        };
        let is_left = is_users && !narrow && owns().all(|own| own.leaves(self.ids.len() > 1));
        let rule = match alone {
            // The hits of held threads are summed up here.
            Some(Spec { condition, aggregation, .. }) if condition.is_some() || is_left && aggregation.is_some() => {
                channel.rule(condition.as_ref(), aggregation.filter(|_| is_left))?
            }
            _ => None,
        };
        let ruled = |number: &RuleNumber| {
            let subject = Subject::Rule { taken: 0 };
            site::Condition { subject, relation: Relation::Equal, value: **number }
        };
        // What the kernel does not decide or sum up is looked at here.
        if is_left && (rule.is_some() || specs().all(is_plain_hit)) {
            let condition = rule.as_ref().map(ruled);
            return Ok(Some(match counts {
                true => (site(0, Memory::NONE, condition), rule),
                false => (site(action::RECORD | action::REGISTERS, Memory::stack(MEMORY), condition), rule),
            }));
        }
        let condition = alone.and_then(|spec| spec.condition.as_ref());
        let condition = condition.and_then(|condition| filter::of(condition).or_else(|| rule.as_ref().map(ruled)));
        Ok(Some((site(action::HOLD, Memory::NONE, condition), rule)))
    }

    /// Whether the kernel evaluates the condition of the site's only breakpoint.
    pub(super) fn is_filtered(&self) -> bool {
        self.asked.is_some_and(|asked| asked.condition.is_some())
    }

    /// Whether the site's rule counts the hits of its only breakpoint. Those of held threads are counted here.
    pub(super) fn is_counted(&self) -> bool {
        self.asked.is_some_and(|asked| asked.rule().is_some() && asked.actions & action::HOLD == 0)
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
