//! Stops running threads for operations of the tracer.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::status::Status;
use super::stops::Next;
use super::stops::report::on_report;
use super::sys::{self, PATIENCE, Report, is_gone, unless_gone};
use super::thread::{State, Stop, Thread};
use super::{Tracer, arch};
use crate::{Error, Pid, Result, Tid};

/// The most time for which a report is waited for between two looks at what the thread does.
pub(super) const GLANCE: Duration = Duration::from_millis(50);

/// A thread that an operation keeps stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pinned {
    pub(super) tid: Tid,
    /// Somebody else had stopped the thread, and lets it continue.
    was_stopped: bool,
}

impl Tracer {
    /// Looks at a report and lets the thread continue; it is no error that the thread has ended.
    pub(super) fn handle_report(&mut self, tid: Tid, report: Report) -> Result<()> {
        unless_gone(on_report(self, tid, report).and_then(|next| self.apply(tid, next)))
    }

    /// Stops a thread, whatever it does, and pins it until [`Tracer::release_pinned`]. The reports on the way are handled.
    pub(super) fn pin(&mut self, tid: Tid) -> Result<Pinned> {
        self.pin_within(tid, PATIENCE)
    }

    /// [`Tracer::pin`], for a thread that waits uninterruptibly for at most `patience`.
    fn pin_within(&mut self, tid: Tid, patience: Duration) -> Result<Pinned> {
        let thread = self.tracees.thread_mut(tid)?;
        thread.pins += 1;
        if thread.stop().is_some() {
            return Ok(Pinned { tid, was_stopped: true });
        }
        thread.interruption.call = arch::BlockedCall::of(tid);
        sys::interrupt(tid)?;
        self.await_stop_for(tid, patience)?;
        Ok(Pinned { tid, was_stopped: false })
    }

    /// Handles the reports of a pinned thread until it is stopped, or until it has waited uninterruptibly for `patience`. A
    /// thread that is given up is not pinned any more.
    pub(super) fn await_stop_for(&mut self, tid: Tid, patience: Duration) -> Result<()> {
        // Without patience a thread is given up at the first look.
        let glance = if patience.is_zero() { GLANCE } else { GLANCE.min(patience) };
        let mut stuck = None;
        while self.tracees.thread(tid)?.stop().is_none() {
            match self.reports.report_within(&mut self.tracees, tid, glance)? {
                Some(report) => self.handle_report(tid, report)?,
                // The first thread of a process, which reports its end after those of all others.
                None if has_ended(tid) => return self.give_up(tid),
                None if !self.is_stuck(tid) => stuck = None,
                None if stuck.get_or_insert_with(Instant::now).elapsed() < patience => {}
                None => return self.give_up(tid),
            }
        }
        Ok(())
    }

    fn give_up(&mut self, tid: Tid) -> Result<()> {
        self.tracees.thread_mut(tid)?.unpin();
        Err(Error::Uninterruptible(tid))
    }

    /// Whether a running thread waits in the kernel for something that no signal ends.
    pub(super) fn is_stuck(&self, tid: Tid) -> bool {
        let runs = self.tracees.threads.get(&tid).is_some_and(|thread| matches!(thread.state, State::Running));
        runs && Status::read(tid).is_ok_and(|status| status.state == b'D')
    }

    /// Ends the use of a pinned thread.
    pub(super) fn release_pinned(&mut self, pinned: Pinned) -> Result<()> {
        if !pinned.was_stopped {
            return self.unpin_and_go_on(pinned.tid);
        }
        if let Some(thread) = self.tracees.threads.get_mut(&pinned.tid) {
            thread.unpin();
        }
        Ok(())
    }

    /// Does something while all threads in the memory of a process are stopped, except those that wait uninterruptibly for longer than `patience`.
    /// The kernel stops such a thread before it executes its next instruction.
    pub(super) fn with_stopped_threads<T>(
        &mut self,
        pid: Pid,
        patience: Duration,
        act: impl FnOnce(&mut Tracer) -> Result<T>,
    ) -> Result<T> {
        let mut pinned = Vec::new();
        let result = self.pin_memory(pid, patience, &mut pinned).and_then(|()| act(self));
        let released = pinned.into_iter().rev().try_for_each(|pinned| self.release_pinned(pinned));
        result.and_then(|value| released.map(|()| value))
    }

    fn pin_memory(&mut self, pid: Pid, patience: Duration, pinned: &mut Vec<Pinned>) -> Result<()> {
        let mut tried = BTreeSet::new();
        loop {
            let threads = self.tracees.threads_in(self.tracees.debuggee(pid)?.space);
            let runs = |tid: &Tid| self.tracees.threads.get(tid).is_some_and(|thread| thread.stop().is_none());
            let Some(tid) = threads.into_iter().find(|tid| runs(tid) && !tried.contains(tid)) else { return Ok(()) };
            tried.insert(tid);
            match self.pin_within(tid, patience) {
                Ok(thread) => pinned.push(thread),
                Err(Error::Uninterruptible(_)) => {}
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Brings a stopped thread out of the system call that it is in, to a stop from which it can be sent anywhere.
    pub(super) fn leave_call(&mut self, tid: Tid) -> Result<()> {
        if self.tracees.thread(tid)?.is_held_at_entry() {
            return self.postpone_call(tid);
        }
        self.leave_stops_in_call(tid)
    }

    /// Brings a thread that the user holds at the beginning of a system call out of it. The thread makes the call when it
    /// continues.
    fn postpone_call(&mut self, tid: Tid) -> Result<()> {
        let pid = self.tracees.thread(tid)?.pid;
        // A filter would be asked about the number that skips the call, and may kill for it.
        let confined = Status::read(tid)?.confined;
        if confined {
            let options = self.tracees.ptrace_options(pid) | libc::PTRACE_O_SUSPEND_SECCOMP;
            sys::set_options(tid, options)
                .map_err(|error| if is_gone(&error) { error } else { Error::Confined(pid) })?;
        }
        let entered = arch::read(tid)?;
        arch::skip_call(tid, &entered)?;
        self.tracees.thread_mut(tid)?.calls.postpone();
        self.leave_stops_in_call(tid)?;
        let mut registers = arch::read(tid)?;
        arch::call_again(&mut registers, &entered);
        arch::write(tid, &registers)?;
        if confined { sys::set_options(tid, self.tracees.ptrace_options(pid)) } else { Ok(()) }
    }

    fn leave_stops_in_call(&mut self, tid: Tid) -> Result<()> {
        while self.tracees.thread(tid)?.is_in_call() {
            self.tracees.thread_mut(tid)?.pins += 1;
            let result = self.apply(tid, Next::LeaveCall(None)).and_then(|()| self.await_stop_for(tid, PATIENCE));
            let is_given_up = matches!(result, Err(Error::Uninterruptible(_)));
            if let Some(thread) = self.tracees.threads.get_mut(&tid).filter(|_| !is_given_up) {
                thread.unpin();
            }
            result?;
        }
        Ok(())
    }

    /// Pins a thread that can make system calls in the address space of a process.
    pub(super) fn pin_any(&mut self, pid: Pid) -> Result<Pinned> {
        match self.pin_one_of(pid, |thread| !thread.vforking) {
            // The child of a `vfork` has just ended, and its parent comes back.
            Err(error) if is_gone(&error) => self.pin_one_of(pid, |_| true),
            result => result,
        }
    }

    /// Pins a suitable thread in the address space of a process, outside of system calls.
    pub(super) fn pin_one_of(&mut self, pid: Pid, is_suitable: impl Fn(&Thread) -> bool) -> Result<Pinned> {
        let tracees = &self.tracees;
        let tids = tracees.threads_in(tracees.debuggee(pid)?.space);
        let threads = tids.iter().filter_map(|tid| tracees.threads.get(tid));
        let mut candidates: Vec<&Thread> = threads.filter(|thread| is_suitable(thread)).collect();
        // Stopped threads come first, and of these those that no signal is about to be delivered to.
        candidates.sort_by_key(|thread| match thread.stop() {
            Some(Stop::Event | Stop::Trap | Stop::Syscall) => 0,
            Some(Stop::Signal(_) | Stop::Moved(_)) => 1,
            Some(_) => 2,
            None => 3,
        });
        // An uninterruptible wait, for a page or for a child of vfork, may last: any other thread is better.
        let waits = |thread: &&Thread| {
            let state = || Status::read(thread.tid).map_or(0, |status| status.state);
            thread.stop().is_none() && state() == b'D'
        };
        let (waiting, others): (Vec<&Thread>, Vec<_>) = candidates.into_iter().partition(waits);
        // What one waiting thread waits for the others may wait for as well.
        let tids: Vec<Tid> = others.iter().chain(waiting.first()).map(|thread| thread.tid).collect();
        let mut outcome = Error::NoSuchProcess(pid);
        for tid in tids {
            match self.pin(tid).and_then(|pinned| self.out_of_call(pinned)) {
                Ok(pinned) => return Ok(pinned),
                Err(error) if is_gone(&error) => {}
                Err(error @ Error::Uninterruptible(_)) => outcome = error,
                Err(error) => return Err(error),
            }
        }
        Err(outcome)
    }

    /// Brings a pinned thread out of its system call; one that cannot be is not pinned any more.
    fn out_of_call(&mut self, pinned: Pinned) -> Result<Pinned> {
        if let Err(error) = self.leave_call(pinned.tid) {
            self.release_pinned(pinned)?;
            return Err(error);
        }
        Ok(pinned)
    }
}

/// Whether a thread has ended that the kernel still knows.
pub(super) fn has_ended(tid: Tid) -> bool {
    Status::read(tid).is_ok_and(|status| status.state == b'Z')
}
