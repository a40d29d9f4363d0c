//! The user lets threads continue, or stops them.

use super::super::stops::Next;
use super::super::sys::{self, unless_gone};
use super::super::thread::Hold;
use super::super::{Tracer, arch};
use crate::{Error, Pid, Result, Signal, Tid};

impl Tracer {
    /// Lets a held thread continue; it gets the signal that it is stopped by.
    pub(in crate::ptrace) fn resume_thread(&mut self, tid: Tid) -> Result<()> {
        let signal = self.tracees.thread(tid)?.signal();
        self.resume_thread_with(tid, signal)
    }

    pub(in crate::ptrace) fn resume_thread_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        let thread = self.tracees.thread_mut(tid)?;
        if !thread.is_held() {
            return Err(Error::NotHeld(tid));
        }
        if let Some(signal) = signal.filter(|signal| !signal.exists()) {
            return Err(Error::NoSuchSignal(signal));
        }
        if thread.has_untold && self.events.has_held_of_thread(tid) {
            // The thread waits for the user's answer to that event.
            return Ok(());
        }
        thread.has_untold = false;
        let thread = self.tracees.thread_mut(tid)?;
        if let Some(kind) = thread.untold.pop_front() {
            let (pid, own) = (thread.pid, thread.signal());
            if let Some(other) = signal.filter(|signal| Some(*signal) != own) {
                sys::send(pid.0, tid, other.0)?;
            }
            return self.apply(tid, Next::Hold(kind));
        }
        let reported_at = thread.reported_at;
        thread.hold = Hold::Not;
        // A thread that was killed meanwhile reports its end.
        let resumed = unless_gone(self.go_on_with(tid, signal).and_then(|next| self.apply(tid, next)));
        if resumed.is_err() {
            if let Some(thread) = self.tracees.threads.get_mut(&tid).filter(|thread| thread.stop().is_some()) {
                (thread.hold, thread.reported_at) = (Hold::ForUser, reported_at);
            }
        }
        resumed
    }

    /// Stops the running threads of a process; each reports that.
    pub(in crate::ptrace) fn interrupt_process(&mut self, pid: Pid) -> Result<()> {
        self.tracees.shown_process(pid)?;
        self.tracees.threads_of(pid).into_iter().try_for_each(|tid| self.interrupt_running(tid))
    }

    /// Stops a running thread, which reports that.
    pub(in crate::ptrace) fn interrupt_running(&mut self, tid: Tid) -> Result<()> {
        let thread = self.tracees.thread_mut(tid)?;
        if thread.stop().is_some() {
            return Ok(());
        }
        thread.interruption.for_user = true;
        thread.interruption.call = arch::BlockedCall::of(tid);
        unless_gone(sys::interrupt(tid))
    }
}
