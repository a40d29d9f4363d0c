//! Reports of tracees that the tracer has taken from the kernel, and has to look at.
//!
//! A wait for one thread puts the reports of all others into a queue, from which the event loop takes them later.

use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::departing::Departing;
use super::notify::Notify;
use super::pause::{Pause, Polling};
use super::plain_hit::PlainHits;
use super::rewind::take_report;
use super::sys::Report;
use super::thread::State;
use super::tracees::Tracees;
use crate::backend::Blocking;
use crate::{Error, Options, Pid, Result, Tid};

#[derive(Debug)]
pub(super) struct Reports {
    notify: Notify,
    /// Reports that nobody has looked at.
    pub(super) queue: VecDeque<(Tid, Report)>,
    /// Reports of threads that no parent has reported yet.
    pub(super) early: HashMap<Tid, Report>,
    pub(super) departing: Departing,
    pub(super) polling: Polling,
    pub(super) pause: Pause,
    /// The number of stops that were taken one by one since all reports were.
    pub(super) single: u32,
    pub(super) plain_hits: PlainHits,
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
            single: 0,
            plain_hits: PlainHits::default(),
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
            // No operation of the tracer is under way.
            self.plain_hits.may_pass = true;
            let more = self.fill(tracees, blocking.may_block());
            self.plain_hits.may_pass = false;
            if !more? && self.queue.is_empty() {
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

    pub(super) fn sort_in(&mut self, tracees: &mut Tracees, tid: Tid, report: Report) {
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
