//! Watchpoints, written into the debug registers of all threads of a memory.

use super::super::Tracer;
use super::super::breakpoints::trap_handler::install_everywhere;
use super::super::sys::{PATIENCE, unless_gone};
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
        self.with_stopped_threads(pid, PATIENCE, |tracer| {
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
        self.with_stopped_threads(pid, PATIENCE, |tracer| {
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
}
