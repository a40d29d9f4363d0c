//! Takes reports of tracees from the kernel: fairly, and without those of children that are no tracees.
//!
//! A wait for one thread puts the reports of all others into a queue, from which the event loop takes them later.

use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::departing::Departing;
use super::notify::Notify;
use super::rewind::{needs_rewind, rewind};
use super::status::Status;
use super::sys::{self, Report, is_gone};
use super::thread::State;
use super::tracees::Tracees;
use crate::{Error, Pid, Result, Tid};

/// The number of reports that are taken before the first of them is looked at.
const BATCH: usize = 256;

#[derive(Debug)]
pub(super) struct Reports {
    notify: Notify,
    /// Reports that nobody has looked at.
    queue: VecDeque<(Tid, Report)>,
    /// Reports of threads that no parent has reported yet.
    early: HashMap<Tid, Report>,
    pub(super) departing: Departing,
}

impl Reports {
    pub(super) fn new() -> Result<Reports> {
        let (queue, early) = (VecDeque::new(), HashMap::new());
        Ok(Reports { notify: Notify::new()?, queue, early, departing: Departing::default() })
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

    /// The next report of any thread. `None`: there is none and `block` is not set, or no tracee is left.
    pub(super) fn next_report(&mut self, tracees: &mut Tracees, block: bool) -> Result<Option<(Tid, Report)>> {
        loop {
            if let Some(report) = self.queue.pop_front() {
                return Ok(Some(report));
            }
            let more = self.fill(tracees, block)?;
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
    pub(super) fn await_departing(&mut self, tracees: &mut Tracees) -> Result<()> {
        while self.departing.is_any_alive() && self.fill(tracees, true)? {}
        Ok(())
    }

    /// Waits for the departing threads that need the tracer.
    pub(super) fn await_needy(&mut self, tracees: &mut Tracees) -> Result<()> {
        while self.departing.needs_tracer(tracees) && self.fill(tracees, true)? {}
        Ok(())
    }

    /// Takes all reports that the kernel has; where `block`, waits for the first. Returns whether there may be more.
    fn fill(&mut self, tracees: &mut Tracees, block: bool) -> Result<bool> {
        let before = self.queue.len();
        let foreign = self.collect_reports(tracees, block)?;
        if !foreign || !block {
            return Ok(block && !(tracees.threads.is_empty() && self.departing.is_none_departing()));
        }
        // A child that is no tracee is the first in the kernel's list: look at each tracee, and sleep until SIGCHLD.
        self.notify.clear();
        self.collect_each(tracees)?;
        if self.queue.len() == before {
            self.notify.block(None);
        }
        Ok(true)
    }

    /// Takes all reports that the kernel has; where there is none, waits for one until `limit`.
    fn fill_within(&mut self, tracees: &mut Tracees, limit: Duration) -> Result<()> {
        self.notify.clear();
        let before = self.queue.len() + self.early.len();
        self.collect_reports(tracees, false)?;
        if self.queue.len() + self.early.len() == before {
            self.notify.block(Some(limit));
            self.collect_reports(tracees, false)?;
        }
        Ok(())
    }

    /// Takes the reports that the kernel has; where `block`, waits for the first. Returns whether a child that is no tracee
    /// hides those behind it.
    fn collect_reports(&mut self, tracees: &mut Tracees, block: bool) -> Result<bool> {
        let only = tracees.threads.keys().next().copied().filter(|_| tracees.threads.len() == 1);
        if let Some(tid) = only.filter(|_| self.departing.is_none_departing()) {
            // No other thread can have anything to report before this one does.
            if let Some(report) = take_report(tracees, tid, block)? {
                self.sort_in(tracees, tid, report);
            }
            return Ok(false);
        }
        let mut block = block;
        for _ in 0..BATCH {
            let Some((tid, signal)) = sys::peek_any(block)? else {
                if block {
                    // This thread has no child left.
                    let tids: Vec<Tid> = tracees.threads.keys().copied().collect();
                    tids.into_iter().for_each(|tid| tracees.remove_vanished(tid));
                }
                return Ok(false);
            };
            if !tracees.threads.contains_key(&tid) && !self.departing.is_departing(tid) && !is_traced_by_us(tid) {
                if !block {
                    self.collect_each(tracees)?;
                }
                return Ok(true);
            }
            rewind_if_trap(tracees, tid, signal)?;
            if let Some(report) = sys::wait_for(tid, false)? {
                self.sort_in(tracees, tid, report);
            }
            block = false;
        }
        Ok(false)
    }

    /// Takes what each tracee has to report.
    pub(super) fn collect_each(&mut self, tracees: &mut Tracees) -> Result<()> {
        let tids: Vec<Tid> = tracees.threads.keys().copied().chain(self.departing.departing_threads()).collect();
        for tid in tids {
            match take_report(tracees, tid, false) {
                Ok(Some(report)) => self.sort_in(tracees, tid, report),
                Ok(None) => {}
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
        let Some(signal) = sys::peek(tid, block)? else { return Ok(None) };
        rewind_if_trap(tracees, tid, signal)?;
    }
    sys::wait_for(tid, block)
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
