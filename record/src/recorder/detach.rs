//! Lets threads go.

use std::io::Write;

use super::error::RecordError;
use super::sys::{self, EVENT_STOP, Report, SYSGOOD, Whom};
use super::thread::State;
use super::{Recorder, alive, arch};
use crate::item::EventKind;

impl<W: Write> Recorder<W> {
    /// Detaches from all threads, which run on, and ends the trace.
    ///
    /// # Errors
    /// The trace cannot be written. The recorder detaches from the threads all the same.
    pub fn finish(&mut self) -> Result<(), RecordError> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        for &tid in self.threads.keys() {
            // A thread that stops anyway, or is gone, needs no interrupt.
            let _ = sys::interrupt(tid);
        }
        let mut failure = None;
        while !self.threads.is_empty() {
            let report = match self.reports.pop_front() {
                Some(report) => Some(report),
                None => sys::wait(Whom::All, true).ok().flatten(),
            };
            // Nobody is left to report.
            let Some((tid, report)) = report else { break };
            if let Err(error) = self.release(tid, report) {
                failure.get_or_insert(error);
                self.forget(tid);
            }
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.writer.finish().map_err(RecordError::Output)
    }

    /// Detaches from a thread at its next stop that allows it.
    fn release(&mut self, tid: u32, report: Report) -> Result<(), RecordError> {
        let (signal, event) = match report {
            Report::Stopped { signal, event } => (signal, event),
            Report::Exited(_) | Report::Killed(_) if self.threads.contains_key(&tid) => {
                return self.report(tid, report);
            }
            Report::Exited(_) | Report::Killed(_) => return Ok(()),
        };
        let Some(thread) = self.threads.get(&tid) else {
            // A child whose parent's report has not come.
            alive!("PTRACE_DETACH", tid, sys::detach(tid, 0));
            return Ok(());
        };
        let state = thread.state;
        if event == EVENT_STOP && matches!(state, State::Stepping | State::Running) {
            // The trap of the thread's step has not come yet, and must not reach the program.
            return self.go_on(tid);
        }
        if matches!(event, libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK) {
            let child = alive!("PTRACE_GETEVENTMSG", tid, sys::event_message(tid)) as u32;
            let early = self.early.remove(&child);
            self.let_go(child, early.is_some())?;
        }
        let told = if event == 0 && signal != libc::SIGTRAP | SYSGOOD { self.last_step(tid, signal) } else { Ok(0) };
        let restored = self.restore_mask(tid);
        let released = self.tell(tid, EventKind::Released);
        let detached = sys::detach(tid, *told.as_ref().unwrap_or(&0));
        self.forget(tid);
        alive!("PTRACE_DETACH", tid, detached);
        told.map(drop).and(restored).and(released)
    }

    /// Writes the completed step, and returns the signal that the program gets.
    fn last_step(&mut self, tid: u32, signal: i32) -> Result<i32, RecordError> {
        let now = alive!("PTRACE_GETREGS", tid, arch::registers(tid));
        Ok(self.done(tid, signal, &now)?.unwrap_or(0))
    }

    /// Detaches from a child that is not recorded, at its first stop.
    pub(super) fn let_go(&mut self, child: u32, has_stopped: bool) -> Result<(), RecordError> {
        let queued = self.reports.iter().position(|&(tid, _)| tid == child);
        if let Some(at) = queued {
            self.reports.remove(at);
        } else if !has_stopped {
            // One that is gone needs nothing more.
            let _ = sys::wait(Whom::One(child), true);
        }
        alive!("PTRACE_DETACH", child, sys::detach(child, 0));
        Ok(())
    }
}
