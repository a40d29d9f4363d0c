//! Threads of detached processes that could not be stopped.
//!
//! Such a thread waits in the kernel for something that no signal ends, mostly in vfork(2) for a child. It reports a stop when
//! that wait ends, and is detached then. Where the tracer ends before, the kernel detaches it.

use std::collections::HashMap;

use super::arch;
use super::blocked::Blocked;
use super::slot;
use super::space::Space;
use super::status::Status;
use super::sys::{self, Report};
use super::tracees::{SpaceId, Tracees};
use crate::arch::Reg;
use crate::process::read_threads;
use crate::{Pid, Result, Tid};

/// What the tracer needs of such a thread when it reports.
#[derive(Debug)]
struct Departure {
    /// The address space with the slots that the thread may be in; none where there never were slots.
    space: Option<SpaceId>,
    scratch: Option<(Reg, u64)>,
    /// Debug registers of the thread observe something: without a tracer the thread would die of their trap.
    armed: bool,
    /// The kernel kills the thread where the tracer ends before.
    exit_kill: bool,
}

#[derive(Debug, Default)]
pub(super) struct Departing(HashMap<Tid, Departure>);

impl Departing {
    /// Adds a running thread of a process that is being detached.
    pub(super) fn add_departing(&mut self, tracees: &mut Tracees, tid: Tid) {
        let Some(thread) = tracees.threads.get(&tid) else { return };
        let Some(debuggee) = tracees.debuggees.get(&thread.pid) else { return };
        let (space, scratch, exit_kill) = (debuggee.space, thread.slot.scratch, debuggee.exit_kill);
        let armed = thread.armed.is_any();
        tracees.share_space(space);
        self.0.insert(tid, Departure { space: Some(space), scratch, armed, exit_kill });
        // The wait may have ended just now: then this makes the thread report.
        let _ = sys::interrupt(tid);
    }

    /// Adds an interrupted thread that never was a debuggee's.
    pub(super) fn add_unseen(&mut self, tid: Tid) {
        self.0.insert(tid, Departure { space: None, scratch: None, armed: false, exit_kill: false });
    }

    pub(super) fn is_departing(&self, tid: Tid) -> bool {
        self.0.contains_key(&tid)
    }

    pub(super) fn departing_threads(&self) -> impl Iterator<Item = Tid> {
        self.0.keys().copied()
    }

    pub(super) fn is_none_departing(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a thread departs that has not ended.
    pub(super) fn is_any_alive(&self) -> bool {
        self.0.keys().any(|&tid| Status::read(tid).is_ok_and(|status| status.state != b'Z'))
    }

    pub(super) fn forget_departing(&mut self) {
        self.0.clear();
    }

    /// Whether threads of a detached process are still traced.
    pub(super) fn is_process_departing(&self, pid: Pid) -> bool {
        read_threads(pid).unwrap_or_default().iter().any(|tid| self.0.contains_key(tid))
    }

    /// A new attach to the process keeps the thread.
    pub(super) fn keep(&mut self, tracees: &mut Tracees, tid: Tid) {
        if let Some(Departure { space: Some(space), .. }) = self.0.remove(&tid) {
            tracees.drop_space(space);
        }
    }

    /// Detaches a thread that reported.
    pub(super) fn depart(&mut self, tracees: &mut Tracees, tid: Tid, report: Report) {
        let Some(departure) = self.0.remove(&tid) else { return };
        if let Report::Stopped { signal, event } = report {
            let space = departure.space.and_then(|space| tracees.spaces.get(&space));
            // A thread for which this fails has ended.
            let _ = space.map_or(Ok(()), |space| put_out_of_slot(tid, space, departure.scratch));
            if departure.armed {
                let _ = arch::set_debug_registers(tid, &[]);
            }
            let _ = sys::detach(tid, if event == 0 && signal & 0x80 == 0 { signal } else { 0 });
        }
        if let Some(space) = departure.space {
            tracees.drop_space(space);
        }
    }

    /// Whether a thread would not survive the end of the tracer: it is in a slot, its debug registers
    /// observe something, or the kernel kills it then.
    pub(super) fn needs_tracer(&self, tracees: &Tracees) -> bool {
        let in_slot = |tid: Tid, departure: &Departure| {
            let pc = Blocked::of(tid).map(|call| call.pc);
            let space = departure.space.and_then(|space| tracees.spaces.get(&space));
            pc.zip(space).is_some_and(|(pc, space)| space.slot_at(pc).is_some())
        };
        self.0.iter().any(|(&tid, departure)| departure.armed || departure.exit_kill || in_slot(tid, departure))
    }
}

/// Moves a stopped thread to where it would be without breakpoints.
fn put_out_of_slot(tid: Tid, space: &Space, scratch: Option<(Reg, u64)>) -> Result<()> {
    let mut registers = arch::read(tid)?;
    match space.place(crate::arch::pc(&registers)) {
        Some((_, place)) => {
            slot::translate(&mut registers, &place, scratch);
            arch::write(tid, &registers)
        }
        None => Ok(()),
    }
}
