//! Threads of processes that were let go while they could not be stopped: they wait in the kernel for something that no signal
//! ends, mostly in `vfork` for a child. What ends that wait makes them report, and then they go; the kernel itself lets them go
//! where the tracer ends before.

use super::blocked::Blocked;
use super::space::Space;
use super::status::Status;
use super::sys::{self, Report};
use super::thread::State;
use super::{SpaceId, Tracer, arch, slot};
use crate::arch::Reg;
use crate::process::read_threads;
use crate::{Pid, Result, Tid};

/// What is needed of such a thread when it comes.
#[derive(Debug)]
pub(super) struct Leaving {
    /// Where it may be in a slot; nowhere where there never were any.
    space: Option<SpaceId>,
    scratch: Option<(Reg, u64)>,
    /// The kernel would kill it where the tracer ended before.
    kill: bool,
}

impl Tracer {
    /// Lets a thread go that runs, as soon as it can be stopped.
    pub(super) fn leave_later(&mut self, tid: Tid) {
        let Some(thread) = self.threads.get(&tid) else { return };
        let Some(debuggee) = self.debuggees.get(&thread.pid) else { return };
        let leaving = Leaving { space: Some(debuggee.space), scratch: thread.scratch, kill: debuggee.kill };
        if let Some(space) = self.spaces.get_mut(&debuggee.space) {
            space.users += 1;
        }
        self.leaving.insert(tid, leaving);
        // It may have come just now; then this makes it report.
        let _ = sys::interrupt(tid);
        if let Some(at) = self.reports.iter().position(|(reporter, _)| *reporter == tid)
            && let Some((_, report)) = self.reports.remove(at)
        {
            self.on_leaving(tid, report);
        }
    }

    /// The same for a thread that was interrupted and of which nothing is known yet.
    pub(super) fn leave_unseen(&mut self, tid: Tid) {
        self.leaving.insert(tid, Leaving { space: None, scratch: None, kill: false });
    }

    /// Whether threads of a process that was let go are on their way.
    pub(super) fn is_leaving(&self, pid: Pid) -> bool {
        let threads = read_threads(pid).unwrap_or_default();
        threads.iter().any(|tid| self.leaving.contains_key(tid))
    }

    /// A thread does not leave after all.
    pub(super) fn stay(&mut self, tid: Tid) {
        if let Some(Leaving { space: Some(space), .. }) = self.leaving.remove(&tid) {
            self.leave_space(space);
        }
    }

    /// A report of such a thread.
    pub(super) fn on_leaving(&mut self, tid: Tid, report: Report) {
        let Some(leaving) = self.leaving.remove(&tid) else { return };
        if let Report::Stopped { signal, event } = report {
            let space = leaving.space.and_then(|space| self.spaces.get(&space));
            // What fails here has ended.
            let _ = space.map_or(Ok(()), |space| put_right(tid, space, leaving.scratch));
            let _ = sys::detach(tid, if event == 0 && signal & 0x80 == 0 { signal } else { 0 });
        }
        if let Some(space) = leaving.space {
            self.leave_space(space);
        }
    }

    /// Waits until all of them are gone.
    pub(super) fn await_leaving(&mut self) -> Result<()> {
        while !self.leaving.is_empty() {
            if !self.fill(true)? {
                break;
            }
        }
        Ok(())
    }

    /// Waits for those that would not live where the kernel let them go: in a slot, or to be killed with the tracer.
    pub(super) fn await_leaving_slots(&mut self) -> Result<()> {
        while self.leaving.iter().any(|(&tid, leaving)| leaving.kill || self.is_in_slot(tid, leaving)) {
            if !self.fill(true)? {
                break;
            }
        }
        Ok(())
    }

    fn is_in_slot(&self, tid: Tid, leaving: &Leaving) -> bool {
        let pc = Blocked::of(tid).map(|call| call.pc);
        let space = leaving.space.and_then(|space| self.spaces.get(&space));
        pc.zip(space).is_some_and(|(pc, space)| space.slot_at(pc).is_some())
    }

    /// Whether a thread that runs waits in the kernel and no signal ends that.
    pub(super) fn is_stuck(&self, tid: Tid) -> bool {
        let runs = self.threads.get(&tid).is_some_and(|thread| matches!(thread.state, State::Running));
        runs && Status::read(tid).is_ok_and(|status| status.state == b'D')
    }
}

/// Puts a thread that came to a stop where it would be without breakpoints.
fn put_right(tid: Tid, space: &Space, scratch: Option<(Reg, u64)>) -> Result<()> {
    let mut registers = arch::read(tid)?;
    match space.place(crate::arch::pc(&registers)) {
        Some((_, place)) => {
            slot::translate(&mut registers, &place, scratch);
            arch::write(tid, &registers)
        }
        None => Ok(()),
    }
}
