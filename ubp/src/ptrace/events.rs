//! The events that the user has not seen yet.

use std::collections::{HashMap, VecDeque};

use super::thread::Hold;
use super::tracees::Tracees;
use crate::clock::monotonic;
use crate::{Breakpoint, Event, EventKind, Pid, Result, Tid};

#[derive(Debug, Default)]
pub(super) struct Events {
    queue: VecDeque<Event>,
    /// Breakpoints of processes that ended, until the user has seen the event of the end.
    ended: HashMap<Pid, Vec<Option<Breakpoint>>>,
    /// The process whose end the user saw last.
    told: Option<Pid>,
}

impl Events {
    pub(super) fn emit(&mut self, pid: Pid, tid: Tid, kind: EventKind) {
        self.queue.push_back(Event { pid, tid, time: monotonic(), kind, runs_on: false });
    }

    /// Reports an event of a stopped thread, which then waits for the user.
    pub(super) fn hold(&mut self, tracees: &mut Tracees, tid: Tid, kind: EventKind) -> Result<()> {
        let thread = tracees.thread_mut(tid)?;
        thread.hold = Hold::ForUser;
        self.emit(thread.pid, tid, kind);
        Ok(())
    }

    /// The next event for the user.
    pub(super) fn take_event(&mut self) -> Option<Event> {
        let event = self.queue.pop_front()?;
        if matches!(event.kind, EventKind::Exited(_) | EventKind::Killed(_)) {
            self.told = Some(event.pid);
        }
        Some(event)
    }

    /// Whether an event for which the thread waits is still to be delivered.
    pub(super) fn has_held_of_thread(&self, tid: Tid) -> bool {
        self.queue.iter().any(|event| event.tid == tid && event.is_held())
    }

    /// The user has seen the event that was taken last.
    pub(super) fn forget_told(&mut self) {
        if let Some(pid) = self.told.take() {
            self.ended.remove(&pid);
        }
    }

    /// Keeps the breakpoints of a process that ended.
    pub(super) fn keep_breakpoints(&mut self, pid: Pid, breakpoints: Vec<Option<Breakpoint>>) {
        self.ended.insert(pid, breakpoints);
    }

    pub(super) fn breakpoints_of_ended(&self, pid: Pid) -> &[Option<Breakpoint>] {
        self.ended.get(&pid).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn drop_events_of_process(&mut self, pid: Pid) {
        self.queue.retain(|event| event.pid != pid);
    }

    pub(super) fn drop_events_of_thread(&mut self, tid: Tid) {
        self.queue.retain(|event| event.tid != tid);
    }

    /// Drops the events for which a thread of the process waits.
    pub(super) fn drop_held_of_process(&mut self, pid: Pid) {
        self.queue.retain(|event| event.pid != pid || !event.is_held());
    }

    /// Drops the events for which the thread waits.
    pub(super) fn drop_held_of_thread(&mut self, tid: Tid) {
        self.queue.retain(|event| event.tid != tid || !event.is_held());
    }
}
