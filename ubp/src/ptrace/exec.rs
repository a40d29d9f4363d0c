//! A debuggee executes another program.

use super::space::Space;
use super::thread::{Stop, Thread};
use super::{Tracer, TrapAction, sys};
use crate::process::read_process;
use crate::{Breakpoint, EventKind, Pid, Result, Tid};

impl Tracer {
    /// The thread, which has the process' id from now on whichever thread called, stands before the new program's first
    /// instruction. All others are gone, and so is the old address space.
    pub(super) fn on_exec(&mut self, tid: Tid) -> Result<()> {
        let pid = Pid(tid.0);
        let debuggee = self.debuggee(pid)?;
        let (silent, old) = (debuggee.silent, debuggee.space);
        self.begin_program(pid)?;
        if silent {
            self.forget(pid);
            sys::detach(tid, 0)?;
            return self.release_orphans(old);
        }
        self.release_orphans(old)?;
        self.leave_call(tid)?;
        self.watch_loading(tid)?;
        self.hold(tid, EventKind::Exec)
    }

    /// Starts the books of a process anew.
    pub(super) fn begin_program(&mut self, pid: Pid) -> Result<()> {
        let tid = pid.leader();
        for other in self.threads_of(pid) {
            self.threads.remove(&other);
            self.reports.retain(|report| report.0 != other || other == tid);
        }
        self.events.retain(|event| event.pid != pid || !event.is_held());
        let process = read_process(pid)?;
        let mut space = Space::new(pid, process.arch)?;
        space.breakpoints = self.breakpoints_of_old_program(pid)?;
        let space = self.add_space(space);
        let debuggee = self.debuggee_mut(pid)?;
        let old = std::mem::replace(&mut debuggee.space, space);
        debuggee.process = process;
        debuggee.trap = TrapAction::Unknown;
        self.leave_space(old);
        self.add_thread(Thread::new(tid, pid));
        self.set_stop(tid, Stop::InSyscall)
    }
}

impl Tracer {
    /// The breakpoints of the program that was: none stands, their counts can be read, their numbers are not used again.
    fn breakpoints_of_old_program(&mut self, pid: Pid) -> Result<Vec<Option<Breakpoint>>> {
        let debuggee = self.debuggee(pid)?;
        let is_shared = self.owners(debuggee.space) > usize::from(!debuggee.silent);
        let old = self.space_of_mut(pid)?;
        if is_shared {
            return Ok(vec![None; old.breakpoints.len()]);
        }
        let mut breakpoints = std::mem::take(&mut old.breakpoints);
        for breakpoint in breakpoints.iter_mut().flatten() {
            breakpoint.active = false;
        }
        Ok(breakpoints)
    }
}
