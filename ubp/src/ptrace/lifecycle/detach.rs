//! Detaching from processes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::super::goal::end_goal;
use super::super::sys::{self, PATIENCE, is_gone, unless_gone};
use super::super::thread::Hold;
use super::super::tracees::SpaceId;
use super::super::{Tracer, arch};
use super::release::release_process;
use crate::{Error, Pid, Result, Tid};

impl Tracer {
    pub(in crate::ptrace) fn detach_process(&mut self, pid: Pid) -> Result<()> {
        self.finish_vforks(pid)?;
        let pinned = self.stop_for_detach(pid)?;
        let Ok(debuggee) = self.tracees.debuggee(pid) else { return Ok(()) };
        let space = debuggee.space;
        if !debuggee.silent && self.tracees.owners(space) > 1 {
            return self.fall_silent(pid, &pinned);
        }
        for other in self.tracees.processes_in(space) {
            self.events.drop_events_of_process(other);
        }
        release_process(&mut self.tracees, &mut self.reports, pid)
    }

    /// Detaches the processes that are traced for their memory only, where the user knows no process in that memory any more.
    pub(in crate::ptrace) fn detach_orphans(&mut self) -> Result<()> {
        while let Some(space) = self.orphaned.pop() {
            let left = if self.tracees.owners(space) == 0 { self.tracees.processes_in(space) } else { Vec::new() };
            if let Some(&pid) = left.first() {
                unless_gone(self.detach_process(pid))?;
            }
        }
        Ok(())
    }

    pub(in crate::ptrace) fn detach_all(&mut self) {
        // A process may fork while another one is detached.
        while let Some(&pid) = self.tracees.debuggees.keys().next() {
            // A process that cannot be detached has ended.
            if self.detach_process(pid).is_err() {
                self.tracees.remove_process(pid);
            }
        }
    }

    /// Makes a process silent: another process that the user knows needs the breakpoints in their memory.
    fn fall_silent(&mut self, pid: Pid, pinned: &BTreeSet<Tid>) -> Result<()> {
        self.tracees.debuggee_mut(pid)?.silent = true;
        self.events.drop_events_of_process(pid);
        for tid in self.tracees.threads_of(pid) {
            end_goal(&mut self.tracees, tid);
            if let Some(thread) = self.tracees.threads.get_mut(&tid) {
                if pinned.contains(&tid) {
                    thread.unpin();
                }
                thread.hold = Hold::Not;
            }
            unless_gone(self.go_on(tid))?;
        }
        Ok(())
    }

    /// Waits for the ends of `vfork` in the memory of a process. A thread in `vfork` cannot be stopped, and the child uses its
    /// memory; the child needs it for a short time only. Where the time is longer, the thread is detached later.
    fn finish_vforks(&mut self, pid: Pid) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let Ok(space) = self.tracees.debuggee(pid).map(|debuggee| debuggee.space) else { return Ok(()) };
            let threads = &self.tracees.threads;
            let waiting = |tid: &Tid| threads.get(tid).is_some_and(|thread| thread.vforking);
            let tids = self.tracees.threads_in(space);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !tids.iter().any(waiting) {
                return Ok(());
            }
            let held = tids.into_iter().filter(|tid| threads.get(tid).is_some_and(|thread| thread.is_held()));
            for tid in held.collect::<Vec<Tid>>() {
                self.events.drop_events_of_thread(tid);
                if let Some(thread) = self.tracees.threads.get_mut(&tid) {
                    thread.hold = Hold::ForUser;
                    thread.untold.clear();
                }
                self.resume_thread(tid)?;
            }
            if let Some((tid, report)) = self.reports.next_report_within(&mut self.tracees, left)? {
                self.handle_report(tid, report)?;
            }
        }
    }

    /// Stops and pins all threads that are detached together with a process: its own, and those of others in its memory where
    /// the user knows no other process there. Returns those that were not stopped before.
    fn stop_for_detach(&mut self, pid: Pid) -> Result<BTreeSet<Tid>> {
        let mut pinned = BTreeSet::new();
        let mut stuck = BTreeSet::new();
        let mut patience = PATIENCE;
        loop {
            let Ok(space) = self.tracees.debuggee(pid).map(|debuggee| debuggee.space) else { return Ok(pinned) };
            let alone = self.tracees.owners(space) <= 1;
            let mut tids = if alone { self.tracees.threads_in(space) } else { self.tracees.threads_of(pid) };
            let runs = |tid: &Tid| self.tracees.threads.get(tid).is_some_and(|thread| thread.stop().is_none());
            tids.retain(|tid| !stuck.contains(tid) && runs(tid));
            // Threads are made while others are stopped, and a program that is executed has memory of its own.
            if tids.is_empty() {
                if alone && self.leave_calls(space, &mut stuck)? {
                    continue;
                }
                return Ok(pinned);
            }
            for tid in &tids {
                if let Some(thread) = self.tracees.threads.get_mut(tid) {
                    thread.pins += 1;
                    thread.interruption.call = arch::BlockedCall::of(*tid);
                    pinned.insert(*tid);
                    let _ = sys::interrupt(*tid);
                }
            }
            for tid in tids {
                match self.await_stop_for(tid, patience) {
                    Err(Error::Uninterruptible(_)) => {
                        pinned.remove(&tid);
                        stuck.insert(tid);
                        patience = Duration::ZERO;
                    }
                    Err(error) if !is_gone(&error) => return Err(error),
                    Err(_) => self.tracees.remove_vanished(tid),
                    Ok(()) => {}
                }
            }
        }
    }

    /// Makes sure that in each process of a memory the first stopped thread can make system calls. Returns whether a thread had
    /// to leave a system call for that: it may have made other threads.
    fn leave_calls(&mut self, space: SpaceId, stuck: &mut BTreeSet<Tid>) -> Result<bool> {
        for pid in self.tracees.processes_in(space) {
            let belongs = |tid: &Tid| self.tracees.threads.get(tid).is_some_and(|thread| thread.pid == pid);
            let first = self.tracees.stopped_threads(space).into_iter().find(belongs);
            let Some(tid) = first.filter(|tid| !stuck.contains(tid)) else { continue };
            if !self.tracees.thread(tid)?.is_in_call() {
                continue;
            }
            match self.leave_call(tid) {
                Err(Error::Uninterruptible(_)) => drop(stuck.insert(tid)),
                Err(error) if !is_gone(&error) => return Err(error),
                Err(_) => self.tracees.remove_vanished(tid),
                Ok(()) => {}
            }
            return Ok(true);
        }
        Ok(false)
    }
}
