//! Takes what the kernel has to report: fairly, and without the reports of children that are no tracees.

use std::time::{Duration, Instant};

use super::pause::Pause;
use super::plain_hit::{Found as Passing, may_pass_plain_hits, pass_plain_hit};
use super::reports::Reports;
use super::rewind::{rewind_if_trap, take_report};
use super::status::Status;
use super::sys::{self, is_gone};
use super::thread::{State, Thread};
use super::tracees::Tracees;
use super::wait::{self, Found};
use crate::{Result, Tid};

/// The number of reports that are taken at once, besides those of the known threads.
const BATCH: usize = 256;
/// The number of stops that are taken one by one before all reports are: the kernel tells of the newest thread first, and a wait for
/// stops finds no ends.
const MOST_SINGLE: u32 = 8;

/// The longest time between two looks at threads whose reports others may take, or which others hide.
const LONGEST: Duration = Duration::from_millis(10);

/// What a look at the tracees brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Reports,
    Nothing,
    /// Nothing, but a child that is no tracee has a report, which ends every wait for others.
    Hidden,
    /// A thread was at a hit that needs nothing but a count, and runs again. There may be more.
    Passed,
}

impl Reports {
    /// Takes reports that the kernel has; where `block`, waits for one, or until a signal handler has run. Returns whether there
    /// may be more.
    pub(super) fn fill(&mut self, tracees: &mut Tracees, block: bool) -> Result<bool> {
        let may_sleep = block && !tracees.options.others_wait;
        let look = match self.only_tracee(tracees) {
            Some(tid) => self.collect_only(tracees, tid, may_sleep)?,
            None => self.collect_any(tracees, may_sleep)?,
        };
        let is_left = !(tracees.threads.is_empty() && self.departing.is_none_departing());
        if look == Look::Passed {
            self.pause = Pause::new();
            return Ok(true);
        }
        if look == Look::Reports {
            self.pause = Pause::new();
        } else if is_left && (look == Look::Hidden || !may_sleep) {
            self.find_lost_stops(tracees)?;
            if block && self.queue.is_empty() {
                self.pause.sleep(LONGEST);
            }
        }
        Ok(block && is_left)
    }

    /// Takes the reports that the kernel has; where there is none, waits for one until `limit`.
    pub(super) fn fill_within(&mut self, tracees: &mut Tracees, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        let before = self.queue.len() + self.early.len();
        let mut pause = Pause::new();
        loop {
            self.fill(tracees, false)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.queue.len() + self.early.len() != before {
                return Ok(());
            }
            pause.sleep(left.min(LONGEST));
        }
    }

    /// The only thread that can have anything to report.
    fn only_tracee(&self, tracees: &Tracees) -> Option<Tid> {
        let alone = tracees.threads.len() == 1 && self.departing.is_none_departing();
        tracees.threads.keys().next().copied().filter(|_| alone)
    }

    /// Takes the report of the only tracee.
    fn collect_only(&mut self, tracees: &mut Tracees, tid: Tid, sleep: bool) -> Result<Look> {
        if self.plain_hits.are_likely() && may_pass_plain_hits(tracees, tid) {
            match self.pass_only(tracees, tid, sleep) {
                Ok(Some(Passing::Passed)) => return Ok(Look::Passed),
                Ok(Some(Passing::Other)) => {}
                Ok(Some(Passing::Running) | None) => return Ok(Look::Nothing),
                // Its end is found below.
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let mut look = |block| match take_report(tracees, tid, block) {
            Err(error) if is_gone(&error) => {
                // Another thread of its process executed a program, or somebody else took the report of the end.
                tracees.remove_vanished(tid);
                Ok(None)
            }
            other => other,
        };
        let polled = if sleep { self.polling.poll(|| look(false))? } else { None };
        let taken = if polled.is_some() { polled } else { look(sleep)? };
        let Some(report) = taken else { return Ok(Look::Nothing) };
        self.sort_in(tracees, tid, report);
        Ok(Look::Reports)
    }

    /// Passes a hit of the only tracee, if the hit needs nothing but a count. `None`: the thread has nothing to report.
    fn pass_only(&mut self, tracees: &mut Tracees, tid: Tid, sleep: bool) -> Result<Option<Passing>> {
        let mut look = || match pass_plain_hit(tracees, tid)? {
            Passing::Running => match wait::peek(tid, false)? {
                None => Ok(None),
                // The thread has stopped just now.
                Some(libc::SIGTRAP) => pass_plain_hit(tracees, tid).map(Some),
                Some(_) => Ok(Some(Passing::Other)),
            },
            found => Ok(Some(found)),
        };
        let mut found = if sleep { self.polling.poll(&mut look)? } else { look()? };
        if found.is_none() && sleep && wait::peek(tid, true)?.is_some() {
            found = look()?;
        }
        if let Some(found) = found {
            self.plain_hits.note(found);
        }
        Ok(found)
    }

    /// Takes a stop of any tracee, or all reports.
    fn collect_any(&mut self, tracees: &mut Tracees, sleep: bool) -> Result<Look> {
        let mut first = None;
        if self.single < MOST_SINGLE && self.may_take_unseen(tracees) {
            self.single += 1;
            let mut taken = if sleep { self.polling.poll(wait::take_stop)? } else { wait::take_stop()? };
            if taken.is_none() && sleep {
                first = wait::peek_any(true)?.some();
                if matches!(first, Some(Found::Report(_, signal)) if signal != 0) {
                    taken = wait::take_stop()?;
                }
            }
            if let Some((tid, report)) = taken {
                self.sort_in(tracees, tid, report);
                return Ok(Look::Reports);
            }
        } else if sleep {
            first = match self.polling.poll(|| wait::peek_any(false).map(Found::some))? {
                None => wait::peek_any(true)?.some(),
                polled => polled,
            };
        }
        self.single = 0;
        self.collect_all(tracees, first)
    }

    /// Takes the reports of all tracees; `first` is what the kernel told before.
    fn collect_all(&mut self, tracees: &mut Tracees, mut first: Option<Found>) -> Result<Look> {
        let mut look = Look::Nothing;
        // A thread that has passed a hit may be at the next one before the reports of others are found: that one waits for theirs.
        let mut passed = Vec::new();
        // No thread goes on before its report is handled, so that each has few.
        for _ in 0..BATCH + 2 * tracees.threads.len() {
            match first.take().map_or_else(|| wait::peek_any(false), Ok)? {
                Found::Nothing => break,
                Found::NoTracee => {
                    // A queue that is not empty has the ends of the last threads.
                    if self.queue.is_empty() {
                        let tids: Vec<Tid> = tracees.threads.keys().copied().collect();
                        tids.into_iter().for_each(|tid| tracees.remove_vanished(tid));
                    }
                    break;
                }
                Found::Report(tid, _) if !self.is_ours(tracees, tid) => {
                    // A child that no flag excludes (its end sends no SIGCHLD) hides those behind it.
                    self.collect_each(tracees)?;
                    return Ok(if self.queue.is_empty() { Look::Hidden } else { Look::Reports });
                }
                Found::Report(tid, libc::SIGTRAP) if self.pass_one(tracees, tid, &mut passed)? => {
                    look = if look == Look::Nothing { Look::Passed } else { look };
                }
                Found::Report(tid, signal) => {
                    rewind_if_trap(tracees, tid, signal)?;
                    if let Some(report) = wait::wait_for(tid, false)? {
                        self.sort_in(tracees, tid, report);
                        look = Look::Reports;
                    }
                }
            }
        }
        Ok(look)
    }

    /// Passes a hit of a thread that has a report, if the hit needs nothing but a count. The thread is in `passed` then, and was not before.
    fn pass_one(&mut self, tracees: &mut Tracees, tid: Tid, passed: &mut Vec<Tid>) -> Result<bool> {
        if passed.contains(&tid) || !self.plain_hits.are_likely() || !may_pass_plain_hits(tracees, tid) {
            return Ok(false);
        }
        let found = pass_plain_hit(tracees, tid)?;
        self.plain_hits.note(found);
        if found == Passing::Passed {
            passed.push(tid);
        }
        Ok(found == Passing::Passed)
    }

    /// Whether no stop has to be looked at before it is taken.
    fn may_take_unseen(&self, tracees: &Tracees) -> bool {
        self.departing.is_none_departing() && tracees.debuggees.values().all(|debuggee| debuggee.exit_kill)
    }

    fn is_ours(&self, tracees: &Tracees, tid: Tid) -> bool {
        tracees.threads.contains_key(&tid) || self.departing.is_departing(tid) || is_traced_by_us(tid)
    }

    /// Finds the threads whose stops other threads of this process have taken, and queues those stops again.
    fn find_lost_stops(&mut self, tracees: &mut Tracees) -> Result<()> {
        if !tracees.options.others_wait {
            return Ok(());
        }
        self.collect_each(tracees)?;
        let runs = |(tid, thread): (&Tid, &Thread)| matches!(thread.state, State::Running).then_some(*tid);
        let running: Vec<Tid> = tracees.threads.iter().filter_map(runs).collect();
        running.into_iter().try_for_each(|tid| self.find_lost_stop(tracees, tid))
    }

    /// Queues the stop of a thread again that should run.
    pub(super) fn find_lost_stop(&mut self, tracees: &mut Tracees, tid: Tid) -> Result<()> {
        if self.queue.iter().any(|(reporter, _)| *reporter == tid) {
            return Ok(());
        }
        let Some(stop) = wait::lost_stop(tid) else { return Ok(()) };
        // The thread may have stopped just now.
        match take_report(tracees, tid, false) {
            Ok(report) => self.sort_in(tracees, tid, report.unwrap_or(stop)),
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Takes what each tracee has to report.
    pub(super) fn collect_each(&mut self, tracees: &mut Tracees) -> Result<()> {
        let tids: Vec<Tid> = tracees.threads.keys().copied().chain(self.departing.departing_threads()).collect();
        for tid in tids {
            match take_report(tracees, tid, false) {
                Ok(Some(report)) => self.sort_in(tracees, tid, report),
                Ok(None) => {}
                // Somebody else took the report of its end.
                Err(error) if is_gone(&error) && tracees.options.others_wait => tracees.remove_vanished(tid),
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether an unknown child is a thread that a debuggee just made.
fn is_traced_by_us(tid: Tid) -> bool {
    Status::read(tid).is_ok_and(|status| status.tracer == sys::own_tid())
}
