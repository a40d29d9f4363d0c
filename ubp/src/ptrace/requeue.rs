//! Signals that wait for a thread that is let go, as they were sent.
//!
//! A signal sent anew is one of ours until it arrives, where its information is put back; after a detach nobody would do that. The
//! kernel itself queues a signal again, with all its information, where it is blocked at the moment of delivery
//! (kernel/signal.c, `ptrace_signal`).

use super::Tracer;
use super::status::Status;
use super::sys::{self, PTRACE_EVENT_STOP, REAL_TIME, Report, SigInfo};
use super::thread::{State, Stop};
use crate::{Error, Result, Signal, Tid};

impl Tracer {
    /// Puts all that waits for a stopped thread into the kernel's queue. The thread is stopped by no signal then.
    pub(super) fn requeue_signals(&mut self, tid: Tid) -> Result<()> {
        let thread = self.thread(tid)?;
        let (pid, stop) = (thread.pid, thread.stop());
        if let Some(Stop::Moved(info)) = stop {
            self.send_anew(tid, info)?;
        }
        if self.thread(tid)?.resent.is_empty() {
            return Ok(());
        }
        let mask = sys::signal_mask(tid)?;
        if let Some(Stop::Signal(info)) = stop {
            self.requeue(tid, info.signal())?;
        }
        let mut kept = Vec::new();
        while let Some(wanted) = self.thread(tid)?.resent.first().map(SigInfo::signal) {
            if !Status::read(tid)?.is_pending(Signal(wanted)) {
                // Delivered since, with another of its number.
                self.thread_mut(tid)?.resent.remove(0);
                continue;
            }
            sys::set_signal_mask(tid, !Signal(wanted).bit())?;
            sys::cont(tid, 0)?;
            match self.next_stop(tid)? {
                (signal, 0) if signal == wanted => {
                    self.put_information_back(tid)?;
                    self.requeue(tid, signal)?;
                }
                // SIGSTOP, which cannot be blocked.
                (signal, 0) => kept.push(signal),
                _ => {}
            }
        }
        sys::set_signal_mask(tid, mask)?;
        self.set_stop(tid, Stop::Event)?;
        kept.into_iter().try_for_each(|signal| sys::send(pid.0, tid, signal))
    }

    /// Puts the information of a signal that was sent anew into the one that the thread is stopped by, if that is it.
    fn put_information_back(&mut self, tid: Tid) -> Result<()> {
        let info = sys::siginfo(tid)?;
        match self.sent_anew(tid, &info)? {
            Some(info) => sys::set_siginfo(tid, &info),
            None => Ok(()),
        }
    }

    /// The information of a signal that arrives, if it is one that was sent anew.
    pub(super) fn sent_anew(&mut self, tid: Tid, arrived: &SigInfo) -> Result<Option<SigInfo>> {
        let ours = arrived.is_from(sys::own_pid());
        let signal = arrived.signal();
        let resent = &mut self.thread_mut(tid)?.resent;
        // Of a standard signal the first that waits is the only one: ours came to nothing where that was another.
        if !ours && signal >= REAL_TIME {
            return Ok(None);
        }
        let at = resent.iter().position(|old| old.signal() == signal);
        Ok(at.map(|at| resent.remove(at)).filter(|_| ours))
    }

    /// Queues the signal again that a thread is stopped by, and stops the thread where it is.
    fn requeue(&mut self, tid: Tid, signal: i32) -> Result<()> {
        sys::set_signal_mask(tid, u64::MAX)?;
        sys::interrupt(tid)?;
        sys::cont(tid, signal)?;
        while self.next_stop(tid)?.1 != PTRACE_EVENT_STOP {
            sys::cont(tid, 0)?;
        }
        Ok(())
    }

    fn next_stop(&mut self, tid: Tid) -> Result<(i32, i32)> {
        match self.report_of(tid)? {
            Report::Stopped { signal, event } => Ok((signal, event)),
            end => {
                self.reports.push_front((tid, end));
                self.thread_mut(tid)?.state = State::Running;
                Err(Error::NoSuchThread(tid))
            }
        }
    }
}
