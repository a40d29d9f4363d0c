//! The user chooses system calls.

use super::super::Tracer;
use super::super::sys::is_gone;
use crate::{Error, Pid, Result, Syscalls};

impl Tracer {
    /// Reports these system calls of a process from its threads' next one on.
    pub(in crate::ptrace) fn choose_syscalls(&mut self, pid: Pid, syscalls: Syscalls) -> Result<()> {
        self.tracees.shown_process(pid)?;
        self.tracees.debuggee_mut(pid)?.syscalls = syscalls;
        for tid in self.tracees.threads_of(pid) {
            let Some(thread) = self.tracees.threads.get_mut(&tid) else { continue };
            let was_traced = std::mem::replace(&mut thread.calls.traced, !syscalls.is_empty());
            if syscalls.is_empty() || was_traced || thread.stop().is_some() {
                continue;
            }
            // The kernel reports calls of a thread that continues from a stop in a certain way.
            match self.pin(tid).and_then(|pinned| self.release_pinned(pinned)) {
                Err(Error::Uninterruptible(_)) => {}
                Err(error) if is_gone(&error) => {}
                result => result?,
            }
        }
        Ok(())
    }
}
