//! Taking reports from the kernel, fairly, and without those of children that are not ours.

use std::time::Duration;

use super::status::Status;
use super::sys::{self, Report};
use super::{Tracer, is_gone};
use crate::{Event, EventKind, Result, Tid};

/// So many reports are taken before the first of them is looked at.
const BATCH: usize = 256;

impl Tracer {
    pub(super) fn next_event(&mut self, block: bool) -> Result<Option<Event>> {
        self.notify.clear();
        if let Some(pid) = self.told.take() {
            self.ended.remove(&pid);
        }
        loop {
            if let Some(event) = self.events.pop_front() {
                if matches!(event.kind, EventKind::Exited(_) | EventKind::Killed(_)) {
                    self.told = Some(event.pid);
                }
                if !self.events.is_empty() {
                    self.notify.wake();
                }
                return Ok(Some(event));
            }
            if self.debuggees.is_empty() {
                if block {
                    self.await_leaving()?;
                } else {
                    self.collect_each()?;
                }
                return Ok(None);
            }
            match self.next_report(block)? {
                Some((tid, report)) => self.handle(tid, report)?,
                None => return Ok(None),
            }
        }
    }

    /// Looks at a report; that the thread is gone meanwhile is no error.
    pub(super) fn handle(&mut self, tid: Tid, report: Report) -> Result<()> {
        match self.on_report(tid, report) {
            Err(error) if is_gone(&error) => Ok(()),
            result => result,
        }
    }

    /// The next report of any thread, if it comes within that time.
    pub(super) fn next_report_within(&mut self, limit: Duration) -> Result<Option<(Tid, Report)>> {
        if self.reports.is_empty() {
            self.fill_within(limit)?;
        }
        Ok(self.reports.pop_front())
    }

    fn next_report(&mut self, block: bool) -> Result<Option<(Tid, Report)>> {
        loop {
            if let Some(report) = self.reports.pop_front() {
                return Ok(Some(report));
            }
            let more = self.fill(block)?;
            if !more && self.reports.is_empty() {
                return Ok(None);
            }
        }
    }

    /// Takes what the kernel has to report; where `block`, waits until that is something. Says whether there may be more.
    pub(super) fn fill(&mut self, block: bool) -> Result<bool> {
        let before = self.reports.len();
        let foreign = self.collect(block)?;
        if !foreign || !block {
            return Ok(block && !(self.threads.is_empty() && self.leaving.is_empty()));
        }
        // A child that is not ours stands first in the kernel's list: look at ours one by one, and sleep until SIGCHLD.
        self.notify.clear();
        self.collect_each()?;
        if self.reports.len() == before {
            self.notify.block(None);
        }
        Ok(true)
    }

    /// Takes what the kernel has to report, and waits for that so long where there is nothing.
    fn fill_within(&mut self, limit: Duration) -> Result<()> {
        self.notify.clear();
        let before = self.reports.len() + self.early.len();
        self.collect(false)?;
        if self.reports.len() + self.early.len() == before {
            self.notify.block(Some(limit));
            self.collect(false)?;
        }
        Ok(())
    }

    /// Takes what is there, blocking for the first. Says whether a child that is not ours is in the way.
    fn collect(&mut self, block: bool) -> Result<bool> {
        if self.threads.len() == 1
            && self.leaving.is_empty()
            && let Some(&tid) = self.threads.keys().next()
        {
            // Nobody else can have anything to report before it does.
            if let Some(report) = self.report_taken(tid, block)? {
                self.take(tid, report);
            }
            return Ok(false);
        }
        let mut block = block;
        for _ in 0..BATCH {
            let Some((tid, signal)) = sys::peek_any(block)? else {
                if block {
                    // Not one child is left.
                    self.threads.keys().copied().collect::<Vec<Tid>>().into_iter().for_each(|tid| self.lose(tid));
                }
                return Ok(false);
            };
            if !self.threads.contains_key(&tid) && !self.leaving.contains_key(&tid) && !self.is_ours(tid) {
                if !block {
                    self.collect_each()?;
                }
                return Ok(true);
            }
            self.prepare(tid, signal)?;
            if let Some(report) = sys::wait_for(tid, false)? {
                self.take(tid, report);
            }
            block = false;
        }
        Ok(false)
    }

    fn collect_each(&mut self) -> Result<()> {
        let tids: Vec<Tid> = self.threads.keys().chain(self.leaving.keys()).copied().collect();
        for tid in tids {
            match self.report_taken(tid, false) {
                Ok(Some(report)) => self.take(tid, report),
                Ok(None) => {}
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(&mut self, tid: Tid, report: Report) {
        if self.leaving.contains_key(&tid) {
            self.on_leaving(tid, report);
        } else if self.threads.contains_key(&tid) {
            self.reports.push_back((tid, report));
        } else {
            self.early.insert(tid, report);
        }
    }

    /// Whether an unknown child is a thread that a debuggee just made.
    fn is_ours(&self, tid: Tid) -> bool {
        Status::read(tid).is_ok_and(|status| status.tracer == sys::own_tid())
    }

    /// The next report of one thread, in the order of the kernel. Reports of others are taken on the way: the end of a first
    /// thread is only told when those of all others were taken.
    pub(super) fn report_of(&mut self, tid: Tid) -> Result<Report> {
        loop {
            if let Some(report) = self.report_now(tid)? {
                return Ok(report);
            }
            self.fill(true)?;
        }
    }

    /// The same, if it comes within that time.
    pub(super) fn report_within(&mut self, tid: Tid, limit: Duration) -> Result<Option<Report>> {
        if let Some(report) = self.report_now(tid)? {
            return Ok(Some(report));
        }
        self.fill_within(limit)?;
        self.report_now(tid)
    }

    fn report_now(&mut self, tid: Tid) -> Result<Option<Report>> {
        if let Some(report) = self.early.remove(&tid) {
            return Ok(Some(report));
        }
        if let Some(at) = self.reports.iter().position(|report| report.0 == tid)
            && let Some((_, report)) = self.reports.remove(at)
        {
            return Ok(Some(report));
        }
        self.report_taken(tid, false)
    }

    /// Takes what one thread has to report. `None`: nothing now.
    fn report_taken(&mut self, tid: Tid, block: bool) -> Result<Option<Report>> {
        if self.outlives(tid) {
            // One that comes behind this look is taken at the next.
            let Some(signal) = sys::peek(tid, block)? else { return Ok(None) };
            self.prepare(tid, signal)?;
        }
        sys::wait_for(tid, block)
    }

    /// Sees to a thread whose report, a stop by that signal alone, is about to be taken.
    fn prepare(&mut self, tid: Tid, signal: i32) -> Result<()> {
        if signal != libc::SIGTRAP || !self.outlives(tid) {
            return Ok(());
        }
        match self.stand_at_trap(tid) {
            Err(error) if is_gone(&error) => Ok(()),
            result => result,
        }
    }
}
