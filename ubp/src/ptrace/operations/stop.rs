//! The user stops a process.

use std::collections::BTreeSet;
use std::time::Instant;

use super::super::stopping::{GLANCE, has_ended};
use super::super::sys::{self, PATIENCE, unless_gone};
use super::super::thread::Hold;
use super::super::{Tracer, arch};
use crate::{Error, Pid, Result, Tid};

impl Tracer {
    /// Holds every thread of a process. Events that arise meanwhile are delivered later.
    pub(in crate::ptrace) fn stop_process(&mut self, pid: Pid) -> Result<()> {
        let mut pinned = BTreeSet::new();
        let outcome = self.pin_threads(pid, &mut pinned);
        for tid in pinned {
            let untold = self.events.has_held_of_thread(tid);
            let Some(thread) = self.tracees.threads.get_mut(&tid) else { continue };
            if outcome.is_err() {
                self.unpin_and_go_on(tid)?;
                continue;
            }
            thread.unpin();
            thread.has_untold = untold;
            if !thread.is_held() {
                thread.hold = Hold::ForUser;
            }
        }
        // An event that arose meanwhile is found by the next look at the descriptor.
        self.reports.wake();
        outcome
    }

    /// Stops and pins the threads of a process that run, and those that they make meanwhile, until none runs.
    fn pin_threads(&mut self, pid: Pid, pinned: &mut BTreeSet<Tid>) -> Result<()> {
        let mut stuck = None;
        loop {
            self.tracees.shown_process(pid)?;
            let running = self.running_threads(pid);
            for &tid in &running {
                if pinned.insert(tid) {
                    let thread = self.tracees.thread_mut(tid)?;
                    thread.pins += 1;
                    thread.interruption.call = arch::BlockedCall::of(tid);
                    unless_gone(sys::interrupt(tid))?;
                }
            }
            let Some(&last) = running.last() else { return Ok(()) };
            match self.reports.next_report_within(&mut self.tracees, GLANCE)? {
                Some((tid, report)) => self.handle_report(tid, report)?,
                None if !running.iter().any(|&tid| self.is_stuck(tid)) => stuck = None,
                None if stuck.get_or_insert_with(Instant::now).elapsed() < PATIENCE => {}
                None => {
                    let tid = running.iter().copied().find(|&tid| self.is_stuck(tid)).unwrap_or(last);
                    return Err(Error::Uninterruptible(tid));
                }
            }
        }
    }

    /// The threads of a process that are not stopped. A first thread that has ended before the others stays in the process and
    /// reports nothing until they end.
    fn running_threads(&self, pid: Pid) -> Vec<Tid> {
        let mut tids = self.tracees.threads_of(pid);
        tids.retain(|tid| self.tracees.threads.get(tid).is_some_and(|thread| thread.stop().is_none()));
        if tids == [pid.leader()] && has_ended(pid.leader()) {
            tids.clear();
        }
        tids
    }
}
