//! What the user asks about threads.

use super::super::Tracer;
use super::super::thread::{State, Stop};
use crate::{Pid, Result, SignalInfo, ThreadInfo, ThreadState, Tid};

impl Tracer {
    pub(in crate::ptrace) fn is_thread_held(&self, tid: Tid) -> bool {
        self.tracees.threads.get(&tid).is_some_and(|thread| thread.is_held() && thread.stop().is_some())
    }

    /// The signal that a held thread is about to get.
    pub(in crate::ptrace) fn signal_info_of(&self, tid: Tid) -> Result<Option<SignalInfo>> {
        self.require_held(tid)?;
        Ok(self.tracees.thread(tid)?.signal_info())
    }

    /// The threads of a process, those that have not ended.
    pub(in crate::ptrace) fn threads_with_states(&self, pid: Pid) -> Result<Vec<ThreadInfo>> {
        self.tracees.shown_process(pid)?;
        let info = |tid| ThreadInfo::read(tid, self.known_state(tid));
        Ok(self.tracees.threads_of(pid).into_iter().filter_map(info).collect())
    }

    /// The state of a thread, as far as the tracer decides it.
    fn known_state(&self, tid: Tid) -> Option<ThreadState> {
        if self.is_thread_held(tid) {
            return Some(ThreadState::Held);
        }
        match self.tracees.threads.get(&tid)?.state {
            State::Listening | State::Stopped(Stop::Group) => Some(ThreadState::GroupStop),
            _ => None,
        }
    }
}
