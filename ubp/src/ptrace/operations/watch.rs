//! Watchpoints, written into the debug registers of all threads of a memory.

use std::collections::BTreeSet;

use super::super::Tracer;
use super::super::breakpoints::trap_handler::install_everywhere;
use super::super::stopping::Pinned;
use super::super::sys::{is_gone, unless_gone};
use crate::{Access, Address, Error, Pid, Result, Tid, WatchId};

impl Tracer {
    pub(in crate::ptrace) fn watch_memory(
        &mut self,
        pid: Pid,
        address: Address,
        length: u64,
        access: Access,
    ) -> Result<WatchId> {
        self.tracees.shown_process(pid)?;
        self.seize_sharers(pid)?;
        self.with_stopped_threads(pid, |tracer| {
            let tids = tracer.stopped_in_memory_of(pid)?;
            let &tid = tids.first().ok_or(Error::Uninterruptible(pid.leader()))?;
            let id = tracer.tracees.add_watch((pid, tid), address, length, access)?;
            // Where the tracer is killed, the handler lets threads continue that run into a watchpoint.
            install_everywhere(&mut tracer.tracees, &mut tracer.reports, pid)?;
            let armed = tids.iter().try_for_each(|&tid| unless_gone(tracer.tracees.arm(tid)));
            if armed.is_err() {
                tracer.tracees.space_of_mut(pid)?.watches.remove(id);
                tids.iter().try_for_each(|&tid| unless_gone(tracer.tracees.arm(tid)))?;
            }
            armed.map(|()| id)
        })
    }

    pub(in crate::ptrace) fn unwatch_memory(&mut self, pid: Pid, id: WatchId) -> Result<()> {
        self.tracees.shown_process(pid)?;
        self.with_stopped_threads(pid, |tracer| {
            if !tracer.tracees.space_of_mut(pid)?.watches.remove(id) {
                return Ok(());
            }
            let tids = tracer.stopped_in_memory_of(pid)?;
            tids.iter().try_for_each(|&tid| unless_gone(tracer.tracees.arm(tid)))
        })
    }

    fn stopped_in_memory_of(&self, pid: Pid) -> Result<Vec<Tid>> {
        Ok(self.tracees.stopped_threads(self.tracees.debuggee(pid)?.space))
    }

    /// Does something while all threads in the memory of a process are stopped, except those in an uninterruptible wait. The
    /// kernel stops such a thread before it executes its next instruction.
    fn with_stopped_threads<T>(&mut self, pid: Pid, act: impl FnOnce(&mut Tracer) -> Result<T>) -> Result<T> {
        let mut pinned = Vec::new();
        let result = self.pin_memory(pid, &mut pinned).and_then(|()| act(self));
        let released = pinned.into_iter().rev().try_for_each(|pinned| self.release_pinned(pinned));
        result.and_then(|value| released.map(|()| value))
    }

    fn pin_memory(&mut self, pid: Pid, pinned: &mut Vec<Pinned>) -> Result<()> {
        let mut tried = BTreeSet::new();
        loop {
            let threads = self.tracees.threads_in(self.tracees.debuggee(pid)?.space);
            let runs = |tid: &Tid| self.tracees.threads.get(tid).is_some_and(|thread| thread.stop().is_none());
            let Some(tid) = threads.into_iter().find(|tid| runs(tid) && !tried.contains(tid)) else { return Ok(()) };
            tried.insert(tid);
            match self.pin(tid) {
                Ok(thread) => pinned.push(thread),
                Err(Error::Uninterruptible(_)) => {}
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
