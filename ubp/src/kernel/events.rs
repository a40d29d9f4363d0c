//! Events of the channel, and the session's events made of them.

use std::collections::VecDeque;
use std::time::Duration;

use wire::commands::Command;

use super::channel::Told;
use super::site::Goal;
use super::{Held, Kernel};
use crate::backend::Blocking;
use crate::{Error, Event, EventKind, FollowId, Pid, Result, Signal, Tid};

/// Reasons for holding a thread (`held` in docs/ntrace.4).
pub(super) mod reason {
    pub(in crate::kernel) const BREAKPOINT: u64 = 1;
    pub(super) const STEPPED: u64 = 2;
    pub(super) const ASKED: u64 = 3;
    pub(super) const EXECUTED: u64 = 4;
    pub(super) const BEGUN: u64 = 5;
    pub(super) const ENTERED: u64 = 6;
    pub(super) const RETURNED: u64 = 7;
    pub(super) const SIGNALLED: u64 = 8;
    pub(super) const WATCHED: u64 = 9;
}

impl Kernel {
    pub(super) fn next_event(&mut self, blocking: Blocking<'_>) -> Result<Option<Event>> {
        self.channel.set_awake(false);
        if let Some(pid) = self.told.take() {
            self.note_hits();
            self.forget(pid);
        }
        loop {
            if let Some(event) = self.events.pop_front() {
                if matches!(event.kind, EventKind::Exited(_) | EventKind::Killed(_)) {
                    self.told = Some(event.pid);
                }
                if !self.events.is_empty() || self.channel.has_told() {
                    self.channel.set_awake(true);
                }
                return Ok(Some(event));
            }
            if self.debuggees.is_empty() && self.follows.is_empty() {
                return Ok(None);
            }
            match self.channel.next(blocking)? {
                Some(told) => self.on_told(told)?,
                None => return Ok(None),
            }
        }
    }

    /// Handles an event. It is not an error if the thread or process is gone meanwhile.
    pub(super) fn on_told(&mut self, told: Told) -> Result<()> {
        let handled = match told {
            Told::Held { time, debuggee, thread, reason, address } => {
                self.on_held(debuggee, Tid(thread as i32), reason, address, Duration::from_nanos(time))
            }
            Told::Forked { debuggee, process, child } => self.on_forked(debuggee, Pid(process as i32), child),
            Told::Executed { debuggee, before } => self.on_executed(debuggee, before),
            Told::Followed { time, debuggee, process, follow } => {
                self.on_followed(debuggee, Pid(process as i32), FollowId(follow), Duration::from_nanos(time))
            }
            Told::ThreadStarted { debuggee, thread } => {
                self.on_thread_started(debuggee, Tid(thread as i32));
                Ok(())
            }
            Told::ThreadEnded { time, debuggee, thread } => {
                self.on_thread_ended(debuggee, Tid(thread as i32), Duration::from_nanos(time))
            }
            Told::Ended { time, debuggee, status } => self.on_ended(debuggee, status, Duration::from_nanos(time)),
            Told::Said { time, debuggee, thread, what } => {
                self.on_told_said(debuggee, Tid(thread as i32), what, Duration::from_nanos(time));
                Ok(())
            }
            Told::Lost { count } => Err(Error::Lost(count)),
        };
        match handled {
            Err(Error::NoSuchProcess(_) | Error::NoSuchThread(_) | Error::NotHeld(_)) => Ok(()),
            other => other,
        }
    }

    fn on_held(&mut self, debuggee: u64, tid: Tid, why: u64, address: u64, time: Duration) -> Result<()> {
        // The kernel resumes threads of a process that was detached meanwhile.
        let Some(pid) = self.named(debuggee) else { return Ok(()) };
        let process = &mut self.debuggee_mut(pid)?.process;
        process.threads.insert(tid);
        match why {
            reason::BREAKPOINT => self.on_site(pid, tid, address, time),
            // A signal was delivered before the instruction, and the thread is at the beginning of its handler.
            reason::STEPPED | reason::ASKED if matches!(self.goals.get(&tid), Some(Goal::Step(_))) => {
                self.passing.remove(&tid);
                self.on_stepped(pid, tid, address, time)
            }
            reason::ASKED => {
                self.end_goal(tid)?;
                self.hold(pid, tid, EventKind::Interrupted, time);
                Ok(())
            }
            reason::EXECUTED => {
                self.end_goal(tid)?;
                self.watch_loading(pid)?;
                if let Some(id) = self.newcomers.remove(&tid) {
                    self.hold(pid, tid, EventKind::Followed(id), time);
                    return Ok(());
                }
                // A process that ran in its parent's memory until now was not reported yet.
                match self.born.remove(&tid) {
                    Some(parent) => self.tell_forked(parent, pid, VecDeque::from([EventKind::Exec]), time),
                    None => self.hold(pid, tid, EventKind::Exec, time),
                }
                Ok(())
            }
            reason::BEGUN => self.on_begun(pid, tid, time),
            reason::ENTERED | reason::RETURNED | reason::SIGNALLED | reason::WATCHED => {
                self.on_said(pid, tid, address, time)
            }
            _ => {
                self.passing.remove(&tid);
                self.hold_silently(pid, tid);
                self.resume(tid)
            }
        }
    }

    /// A new thread, or a child's first thread, is about to execute its first instruction.
    fn on_begun(&mut self, pid: Pid, tid: Tid, time: Duration) -> Result<()> {
        if let Some(parent) = self.born.remove(&tid) {
            self.tell_forked(parent, pid, VecDeque::new(), time);
            return Ok(());
        }
        if self.options.threads {
            self.hold(pid, tid, EventKind::ThreadStarted, time);
            return Ok(());
        }
        self.hold_silently(pid, tid);
        self.resume(tid)
    }

    /// Reports a new process, which is held and has `pending` events. The kernel does not hold the parent.
    fn tell_forked(&mut self, parent: Pid, child: Pid, pending: VecDeque<EventKind>, time: Duration) {
        self.held.insert(child.leader(), Held::new(child, pending));
        *self.free.entry(parent.leader()).or_default() += 1;
        self.emit(parent, parent.leader(), EventKind::Forked { child }, time);
    }

    fn on_thread_started(&mut self, debuggee: u64, tid: Tid) {
        if let Some(debuggee) = self.named(debuggee).and_then(|pid| self.debuggees.get_mut(&pid)) {
            debuggee.process.threads.insert(tid);
        }
    }

    fn on_thread_ended(&mut self, debuggee: u64, tid: Tid, time: Duration) -> Result<()> {
        let Some(pid) = self.named(debuggee) else { return Ok(()) };
        self.held.remove(&tid);
        self.passing.remove(&tid);
        self.said.remove(&tid);
        self.calls.remove(&tid);
        self.given.remove(&tid);
        self.inside.remove(&tid);
        self.end_goal(tid)?;
        let debuggee = self.debuggees.get_mut(&pid);
        let was_there = debuggee.is_some_and(|debuggee| debuggee.process.threads.remove(&tid));
        if was_there && self.options.threads {
            self.emit(pid, tid, EventKind::ThreadExited, time);
        }
        let Kernel { channel, debuggees, .. } = self;
        debuggees.get_mut(&pid).map_or(Ok(()), |debuggee| debuggee.finish_threads(channel, |other| other == tid))
    }

    fn on_ended(&mut self, debuggee: u64, status: u64, time: Duration) -> Result<()> {
        let Some(pid) = self.named(debuggee) else { return Ok(()) };
        self.nobody_is_held(pid);
        let Some(debuggee) = self.debuggees.remove(&pid) else { return Ok(()) };
        if status == u64::MAX {
            // The process lives, but may no longer be traced.
            return Ok(());
        }
        if debuggee.child {
            let mut status = 0;
            // SAFETY: the status is live. The process is a child that nothing else waits for.
            while unsafe { libc::waitpid(pid.0, &mut status, libc::__WALL) } < 0 && interrupted() {}
        }
        self.ended.insert(pid, debuggee);
        let status = status as libc::c_int;
        let kind = if libc::WIFSIGNALED(status) {
            EventKind::Killed(Signal(libc::WTERMSIG(status)))
        } else {
            EventKind::Exited(libc::WEXITSTATUS(status))
        };
        self.emit(pid, pid.leader(), kind, time);
        Ok(())
    }

    /// Releases the state of a process that ended.
    fn forget(&mut self, pid: Pid) {
        if let Some(debuggee) = self.ended.remove(&pid) {
            // If this fails, the kernel kept nothing.
            let _ = self.channel.post(Command::Detach { debuggee: debuggee.number });
        }
    }
}

/// Whether the last system call was interrupted.
fn interrupted() -> bool {
    std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
}
