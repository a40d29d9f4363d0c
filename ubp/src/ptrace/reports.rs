//! Takes reports of tracees from the kernel: fairly, and without those of children that are no tracees.
//!
//! A wait for one thread puts the reports of all others into a queue, from which the event loop takes them later.

use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::departing::Departing;
use super::notify::Notify;
use super::pause::{Pause, Polling};
use super::rewind::{needs_rewind, rewind};
use super::status::Status;
use super::sys::{self, Report, is_gone};
use super::thread::{State, Thread};
use super::tracees::Tracees;
use super::wait::{self, Found};
use crate::backend::Blocking;
use crate::{Error, Options, Pid, Result, Tid};

/// The number of reports that are taken before the first of them is looked at.
const BATCH: usize = 256;
/// The longest time between two looks at threads whose reports others may take, or which others hide.
const LONGEST: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Reports {
    notify: Notify,
    /// Reports that nobody has looked at.
    queue: VecDeque<(Tid, Report)>,
    /// Reports of threads that no parent has reported yet.
    early: HashMap<Tid, Report>,
    pub(super) departing: Departing,
    polling: Polling,
    pause: Pause,
}

impl Reports {
    pub(super) fn new(options: &Options) -> Result<Reports> {
        Ok(Reports {
            notify: Notify::new(options.others_wait)?,
            queue: VecDeque::new(),
            early: HashMap::new(),
            departing: Departing::default(),
            polling: Polling::new(options.busy_wait),
            pause: Pause::new(),
        })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.notify.as_fd()
    }

    pub(super) fn wake(&self) {
        self.notify.wake();
    }

    pub(super) fn clear_wake(&self) {
        self.notify.clear();
    }

    /// The next report makes the descriptor readable.
    pub(super) fn arm(&self, tracees: &Tracees) {
        self.notify.arm(tracees.threads.keys().copied().chain(self.departing.departing_threads()));
    }

    /// The next report of any thread. `None`: there is none and the call may not block, or no tracee is left.
    pub(super) fn next_report(
        &mut self,
        tracees: &mut Tracees,
        blocking: Blocking<'_>,
    ) -> Result<Option<(Tid, Report)>> {
        loop {
            if let Some(report) = self.queue.pop_front() {
                return Ok(Some(report));
            }
            let more = self.fill(tracees, blocking.may_block())?;
            if !more && self.queue.is_empty() {
                return Ok(None);
            }
        }
    }

    /// The next report of any thread, if it comes within `limit`.
    pub(super) fn next_report_within(
        &mut self,
        tracees: &mut Tracees,
        limit: Duration,
    ) -> Result<Option<(Tid, Report)>> {
        if self.queue.is_empty() {
            self.fill_within(tracees, limit)?;
        }
        Ok(self.queue.pop_front())
    }

    /// The next report of one thread, in the kernel's order. The wait takes the reports of others as well: the kernel reports
    /// the end of a process' first thread only after the ends of all others were taken.
    fn report_of(&mut self, tracees: &mut Tracees, tid: Tid) -> Result<Report> {
        loop {
            if let Some(report) = self.report_now(tracees, tid)? {
                return Ok(report);
            }
            self.fill(tracees, true)?;
            // The tracer uses the thread, and so knows that it runs.
            if tracees.options.others_wait {
                self.find_lost_stop(tracees, tid)?;
            }
        }
    }

    /// The next report of one thread, if it comes within `limit`.
    pub(super) fn report_within(&mut self, tracees: &mut Tracees, tid: Tid, limit: Duration) -> Result<Option<Report>> {
        if let Some(report) = self.report_now(tracees, tid)? {
            return Ok(Some(report));
        }
        self.fill_within(tracees, limit)?;
        self.report_now(tracees, tid)
    }

    /// The next stop of a thread that the tracer itself uses: the signal and the event. The event loop gets the report where
    /// the thread ends, or where its process executes another program: in both cases the used thread is gone.
    pub(super) fn next_stop(&mut self, tracees: &mut Tracees, tid: Tid) -> Result<(i32, i32)> {
        match self.report_of(tracees, tid)? {
            Report::Stopped { signal, event } if event != libc::PTRACE_EVENT_EXEC => Ok((signal, event)),
            other => {
                self.queue.push_front((tid, other));
                tracees.thread_mut(tid)?.state = State::Running;
                Err(Error::NoSuchThread(tid))
            }
        }
    }

    /// Moves the report of a thread to the queue that came before the thread's maker reported it.
    pub(super) fn queue_early(&mut self, tid: Tid) {
        if let Some(report) = self.early.remove(&tid) {
            self.queue.push_back((tid, report));
        }
    }

    /// Drops the queued reports of a thread.
    pub(super) fn drop_reports(&mut self, tid: Tid) {
        self.queue.retain(|(reporter, _)| *reporter != tid);
    }

    /// Detaches a running thread as soon as it stops.
    pub(super) fn detach_later(&mut self, tracees: &mut Tracees, tid: Tid) {
        self.departing.add_departing(tracees, tid);
        let queued = self.queue.iter().position(|(reporter, _)| *reporter == tid);
        if let Some((_, report)) = queued.and_then(|at| self.queue.remove(at)) {
            self.departing.depart(tracees, tid, report);
        }
    }

    /// Waits until all departing threads are detached, except those that have ended: the kernel detaches them with the tracer.
    pub(super) fn await_departing(&mut self, tracees: &mut Tracees, blocking: Blocking<'_>) -> Result<()> {
        while self.departing.is_any_alive() && self.fill(tracees, blocking.may_block())? {}
        Ok(())
    }

    /// Waits for the departing threads that need the tracer.
    pub(super) fn await_needy(&mut self, tracees: &mut Tracees) -> Result<()> {
        while self.departing.needs_tracer(tracees) && self.fill(tracees, true)? {}
        Ok(())
    }

    /// Takes reports that the kernel has; where `block`, waits for one, or until a signal handler has run. Returns whether there
    /// may be more.
    fn fill(&mut self, tracees: &mut Tracees, block: bool) -> Result<bool> {
        let may_sleep = block && !tracees.options.others_wait;
        let found = match self.only_tracee(tracees) {
            Some(tid) => self.collect_only(tracees, tid, may_sleep)?,
            None => self.collect_any(tracees, may_sleep)?,
        };
        let is_left = !(tracees.threads.is_empty() && self.departing.is_none_departing());
        if found {
            self.pause = Pause::new();
        } else if !may_sleep && is_left {
            self.find_lost_stops(tracees)?;
            if block && self.queue.is_empty() {
                self.pause.sleep(LONGEST);
            }
        }
        Ok(block && is_left)
    }

    /// Takes the reports that the kernel has; where there is none, waits for one until `limit`.
    fn fill_within(&mut self, tracees: &mut Tracees, limit: Duration) -> Result<()> {
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

    /// Takes the report of the only tracee. Returns whether there was one.
    fn collect_only(&mut self, tracees: &mut Tracees, tid: Tid, sleep: bool) -> Result<bool> {
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
        let Some(report) = taken else { return Ok(false) };
        self.sort_in(tracees, tid, report);
        Ok(true)
    }

    /// Takes the reports of all tracees. Returns whether there was one.
    fn collect_any(&mut self, tracees: &mut Tracees, sleep: bool) -> Result<bool> {
        let polled = if sleep { self.polling.poll(|| wait::peek_any(false).map(Found::some))? } else { None };
        let mut first = match polled {
            None if sleep => wait::peek_any(true)?.some(),
            polled => polled,
        };
        let (mut found, mut has_ends) = (false, false);
        for _ in 0..BATCH {
            // Threads may end faster than rounds pass: where one has ended, the others that have are taken in the same round.
            if found && !has_ends && self.take_stops(tracees)? {
                // Ends are looked for in the next round.
                break;
            }
            match first.take().map_or_else(|| wait::peek_any(false), Ok)? {
                Found::Nothing => break,
                Found::NoTracee => {
                    // What is queued are the ends of the last threads.
                    if self.queue.is_empty() {
                        let tids: Vec<Tid> = tracees.threads.keys().copied().collect();
                        tids.into_iter().for_each(|tid| tracees.remove_vanished(tid));
                    }
                    break;
                }
                Found::Report(tid, _) if !self.is_ours(tracees, tid) => {
                    // A child that no flag excludes (its end sends no SIGCHLD) hides those behind it.
                    self.collect_each(tracees)?;
                    found |= !self.queue.is_empty();
                    break;
                }
                Found::Report(tid, signal) => {
                    rewind_if_trap(tracees, tid, signal)?;
                    if let Some(report) = wait::wait_for(tid, false)? {
                        has_ends |= !matches!(report, Report::Stopped { .. });
                        self.sort_in(tracees, tid, report);
                        found = true;
                    }
                }
            }
        }
        Ok(found)
    }

    /// Takes the stops of all tracees, if no stop has to be looked at before. Returns whether none has to be.
    fn take_stops(&mut self, tracees: &mut Tracees) -> Result<bool> {
        if tracees.debuggees.values().any(|debuggee| !debuggee.exit_kill) || !self.departing.is_none_departing() {
            return Ok(false);
        }
        for _ in 0..BATCH {
            let Some((tid, report)) = wait::take_stop()? else { break };
            self.sort_in(tracees, tid, report);
        }
        Ok(true)
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
    fn find_lost_stop(&mut self, tracees: &mut Tracees, tid: Tid) -> Result<()> {
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

    fn sort_in(&mut self, tracees: &mut Tracees, tid: Tid, report: Report) {
        if self.departing.is_departing(tid) {
            self.departing.depart(tracees, tid, report);
        } else if tracees.threads.contains_key(&tid) {
            self.queue.push_back((tid, report));
        } else {
            self.early.insert(tid, report);
        }
    }

    fn report_now(&mut self, tracees: &mut Tracees, tid: Tid) -> Result<Option<Report>> {
        if let Some(report) = self.early.remove(&tid) {
            return Ok(Some(report));
        }
        let queued = self.queue.iter().position(|report| report.0 == tid);
        if let Some((_, report)) = queued.and_then(|at| self.queue.remove(at)) {
            return Ok(Some(report));
        }
        take_report(tracees, tid, false)
    }

    /// Drops the queued reports of a process that is being detached.
    pub(super) fn drop_reports_of_process(&mut self, tracees: &Tracees, pid: Pid) {
        self.queue.retain(|(tid, _)| tracees.threads.get(tid).is_none_or(|thread| thread.pid != pid));
    }
}

/// Whether an unknown child is a thread that a debuggee just made.
fn is_traced_by_us(tid: Tid) -> bool {
    Status::read(tid).is_ok_and(|status| status.tracer == sys::own_tid())
}

/// Takes what one thread has to report. `None`: nothing now.
fn take_report(tracees: &mut Tracees, tid: Tid, block: bool) -> Result<Option<Report>> {
    if needs_rewind(tracees, tid) {
        // The next call takes a report that comes after this look.
        let Some(signal) = wait::peek(tid, block)? else { return Ok(None) };
        rewind_if_trap(tracees, tid, signal)?;
        return wait::wait_for(tid, false);
    }
    wait::wait_for(tid, block)
}

/// Prepares a thread whose report, a stop by this signal alone, is about to be taken.
fn rewind_if_trap(tracees: &mut Tracees, tid: Tid, signal: i32) -> Result<()> {
    if signal != libc::SIGTRAP || !needs_rewind(tracees, tid) {
        return Ok(());
    }
    match rewind(tracees, tid) {
        Err(error) if is_gone(&error) => Ok(()),
        result => result,
    }
}
