//! The user lets threads continue, or stops them.

use super::super::sys::{self, is_gone, unless_gone};
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
        for tid in self.tracees.threads_of(pid) {
            let thread = self.tracees.thread_mut(tid)?;
            if thread.stop().is_none() {
                thread.interruption.for_user = true;
                thread.interruption.call = arch::BlockedCall::of(tid);
                match sys::interrupt(tid) {
                    Err(error) if !is_gone(&error) => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
