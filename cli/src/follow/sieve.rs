//! Decides which hits are wanted: by a filter, and by taking one of many.

use std::collections::HashMap;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use ubp::{BreakpointId, Condition, Event, Pid, Session};

use super::told::Told;
use crate::args::FilterArgs;
use crate::failure::{Failure, Result};
use crate::filter::{Arrived, Bound, Filter, Problem, Verdict, pointed};
use crate::output::tell;
use crate::process::Space;

/// The most locations of which it is told one by one that the filter makes no sense there.
const LISTED: usize = 4;

/// The filter of the command line, and what became of it at each breakpoint.
#[derive(Debug)]
pub(super) struct Sieve {
    filter: Option<Filter>,
    /// Of this number of hits one is wanted.
    sample: u64,
    /// The time of the clock of events when ntrace began.
    started: Duration,
    /// The user's breakpoints with a filter. The tracer evaluates the expression at each hit; `None`: the breakpoint's condition says it all.
    judged: HashMap<(Pid, BreakpointId), Option<Bound>>,
    /// The number of hits at each address that the filter let pass.
    passed: HashMap<(Pid, u64), u64>,
    /// The number of locations with breakpoints, and of those where the filter makes no sense.
    accepted: usize,
    wrong: usize,
}

/// What a breakpoint needs.
#[derive(Debug, Default)]
pub(super) struct Sieved {
    /// The condition of the breakpoint. A thread for which it does not hold does not stop.
    pub(super) condition: Option<Condition>,
    /// The expression that the tracer evaluates at each hit.
    pub(super) bound: Option<Bound>,
}

impl Sieve {
    /// Parses the filter. An error shows the text of the filter, with a caret below the wrong character.
    /// `with_results`: the command follows functions to their returns.
    pub(super) fn new(args: &FilterArgs, with_results: bool) -> Result<Sieve> {
        let filter = match &args.condition {
            Some(text) => Some(Filter::parse(text).map_err(|problem| {
                pointed(text, &problem).iter().for_each(tell);
                Failure::usage(format!("--if: {problem}"))
            })?),
            None => None,
        };
        if let (Some(filter), Some(text)) = (&filter, &args.condition) {
            check_result(filter, text, args.sample.is_some(), with_results)?;
        }
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
        let started = now.map_err(|error| Failure::own(format!("clock_gettime: {error}")))?;
        let (judged, passed, sample) = (HashMap::new(), HashMap::new(), args.sample.unwrap_or(1));
        Ok(Sieve { filter, sample, started, judged, passed, accepted: 0, wrong: 0 })
    }

    /// What the breakpoint at an address needs. `None`: no hit there is wanted, or the filter makes no sense there, which is told.
    pub(super) fn at(&mut self, space: &mut Space, address: u64, told: &mut Told) -> Option<Sieved> {
        let Some(filter) = &self.filter else { return Some(Sieved::default()) };
        match filter.at(space, address) {
            Ok((_, decision)) if decision.never => {
                let location = space.description(address).location.clone();
                self.accepted += 1;
                told.tell_once(
                    format!("never {location}"),
                    format_args!("--if: {location}: the expression never holds there"),
                );
                None
            }
            Ok((bound, decision)) => {
                Some(Sieved { condition: decision.condition, bound: (!decision.whole).then_some(bound) })
            }
            Err(problem) => {
                self.wrong += 1;
                let location = space.description(address).location.clone();
                self.tell_wrong(&location, &problem, told);
                None
            }
        }
    }

    fn tell_wrong(&self, location: &str, problem: &Problem, told: &mut Told) {
        let key = format!("filter {location}");
        let Some(filter) = self.filter.as_ref().filter(|_| self.wrong <= LISTED && !told.contains(&key)) else {
            return;
        };
        pointed(filter.text(), problem).iter().for_each(tell);
        told.tell_once(key, format_args!("--if: {location}: {problem}"));
    }

    /// Notes a breakpoint that was inserted.
    pub(super) fn inserted(&mut self, pid: Pid, id: BreakpointId, sieved: Sieved) {
        self.accepted += 1;
        if sieved.bound.is_some() || self.sample > 1 {
            self.judged.insert((pid, id), sieved.bound);
        }
    }

    /// Whether a hit of a breakpoint is wanted, given with the number of its hits. A command wants all hits of its own breakpoints.
    pub(super) fn judge(
        &mut self,
        session: &mut Session,
        space: &mut Space,
        event: &Event,
        address: u64,
        breakpoint: (BreakpointId, u64),
    ) -> Verdict {
        let (id, count) = breakpoint;
        let Some(bound) = self.judged.get(&(event.pid, id)) else { return Verdict::Wanted };
        let time = event.time.saturating_sub(self.started);
        let judge = |bound: &Bound| bound.judge(&mut Arrived::new(session, space, event, address, count, time));
        let verdict = match bound.as_ref().map_or(Verdict::Wanted, judge) {
            Verdict::Wanted if !self.is_sampled(event.pid, address) => Verdict::Unwanted,
            verdict => verdict,
        };
        if matches!(verdict, Verdict::Unwanted) {
            *space.unwanted.entry(id).or_default() += 1;
        }
        verdict
    }

    /// Whether a hit that the filter let pass is one of the sample.
    pub(super) fn is_sampled(&mut self, pid: Pid, address: u64) -> bool {
        if self.sample == 1 {
            return true;
        }
        let passed = self.passed.entry((pid, address)).or_default();
        *passed += 1;
        (*passed - 1) % self.sample == 0
    }

    /// Gives a forked child what its parent has.
    pub(super) fn forked(&mut self, parent: Pid, child: Pid) {
        let of = self.judged.iter().filter(|((pid, _), _)| *pid == parent);
        let copies: Vec<_> = of.map(|((_, id), bound)| ((child, *id), bound.clone())).collect();
        self.judged.extend(copies);
    }

    /// Forgets a process that lost its breakpoints.
    pub(super) fn forget(&mut self, pid: Pid) {
        self.judged.retain(|(known, _), _| *known != pid);
        self.passed.retain(|(known, _), _| *known != pid);
    }

    /// The failure of a run in which the filter makes no sense at any location, with an exit status.
    pub(super) fn failure(&self, status: u8) -> Option<Failure> {
        let is_vain = self.wrong > 0 && self.accepted == 0;
        is_vain.then(|| Failure::new(status, "--if: the expression makes no sense at any location"))
    }

    /// Reports the locations of which it was not told that the filter makes no sense there.
    pub(super) fn tell_others(&self) {
        match self.wrong.saturating_sub(LISTED) {
            0 => {}
            1 => tell("--if: the expression makes no sense at 1 more location"),
            more => tell(format_args!("--if: the expression makes no sense at {more} more locations")),
        }
    }
}

/// Refuses `retval` where nothing returns, and with `--sample`, which takes hits before their results are known.
fn check_result(filter: &Filter, text: &str, is_sampled: bool, with_results: bool) -> Result<()> {
    let Some(at) = filter.result_at() else { return Ok(()) };
    let what = match (with_results, is_sampled) {
        (true, false) => return Ok(()),
        (true, true) => "'retval' is not known when --sample takes a call; leave one of them out",
        (false, _) => {
            "'retval' is known when a function returns: use ntrace calls, ntrace trace --return, or ntrace latency without --to"
        }
    };
    let problem = Problem::new(at, what);
    pointed(text, &problem).iter().for_each(tell);
    Err(Failure::usage(format!("--if: {problem}")))
}
