//! Letting threads go on.

use super::sys::{self, REAL_TIME, SigInfo};
use super::thread::{State, Stop};
use super::{Tracer, arch, is_gone};
use crate::{Error, Pid, Result, Signal, Tid};

impl Tracer {
    pub(super) fn resume(&mut self, tid: Tid) -> Result<()> {
        let thread = self.thread(tid)?;
        let signal = match thread.stop() {
            Some(Stop::Signal(info) | Stop::Moved(info)) => Some(Signal(info.signal())),
            _ => None,
        };
        self.resume_with(tid, signal)
    }

    pub(super) fn resume_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        let thread = self.thread_mut(tid)?;
        if !thread.held {
            return Err(Error::NotHeld(tid));
        }
        if let Some(kind) = thread.pending.pop_front() {
            return self.hold(tid, kind);
        }
        thread.held = false;
        match self.go_on_with(tid, signal) {
            // It was killed; its end will be reported.
            Err(error) if is_gone(&error) => Ok(()),
            result => result,
        }
    }

    pub(super) fn interrupt(&mut self, pid: Pid) -> Result<()> {
        self.debuggee(pid)?;
        for tid in self.threads_of(pid) {
            let thread = self.thread_mut(tid)?;
            if thread.stop().is_none() {
                thread.interrupted = true;
                thread.call = arch::Call::of(tid);
                match sys::interrupt(tid) {
                    Err(error) if !is_gone(&error) => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Lets a stopped thread run, unless somebody wants it stopped; a signal that it is stopped by is delivered.
    pub(super) fn go_on(&mut self, tid: Tid) -> Result<()> {
        let thread = self.thread(tid)?;
        let signal = match thread.stop() {
            Some(Stop::Signal(info) | Stop::Moved(info)) => Some(Signal(info.signal())),
            _ => None,
        };
        self.go_on_with(tid, signal)
    }

    pub(super) fn go_on_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        let thread = self.thread(tid)?;
        if thread.held || thread.wanted > 0 {
            return Ok(());
        }
        let Some(stop) = thread.stop() else { return Ok(()) };
        match (stop, signal) {
            (Stop::Signal(info) | Stop::Moved(info), Some(signal)) if info.signal() == signal.0 => {
                self.deliver(tid, info, matches!(stop, Stop::Moved(_)))
            }
            (Stop::Signal(_) | Stop::Trap, Some(signal)) => {
                self.step_aside(tid, signal)?;
                self.run(tid, signal.0)
            }
            (_, Some(signal)) => {
                let pid = self.thread(tid)?.pid;
                sys::send(pid.0, tid, signal.0)?;
                self.pass_or_run(tid)
            }
            (_, None) => self.pass_or_run(tid),
        }
    }

    /// Over the breakpoint that the thread was reported at, or from wherever else it is.
    fn pass_or_run(&mut self, tid: Tid) -> Result<()> {
        let Some(at) = self.thread_mut(tid)?.at.take() else { return self.run(tid, 0) };
        let pid = self.thread(tid)?.pid;
        if arch::pc(tid)? == at
            && let Some(&slot) = self.space_of(pid)?.sites.get(&at)
        {
            return self.pass(tid, slot);
        }
        self.run(tid, 0)
    }

    /// Runs a thread as it stands.
    pub(super) fn run(&mut self, tid: Tid, signal: i32) -> Result<()> {
        let thread = self.thread_mut(tid)?;
        if thread.wanted > 0 {
            return Ok(());
        }
        if matches!(thread.state, State::Stopped(Stop::Group)) {
            thread.state = State::Listening;
            return sys::listen(tid);
        }
        if signal == 0 {
            self.renew_answer(tid)?;
        }
        let thread = self.thread_mut(tid)?;
        thread.state = State::Running;
        thread.call = None;
        // Any other stop has cleared an interruption that was due (ptrace_stop in kernel/signal.c).
        if std::mem::take(&mut thread.again) || thread.interrupted {
            sys::interrupt(tid)?;
        }
        let thread = self.thread(tid)?;
        if thread.step.is_some() || thread.entering || thread.framing.is_some() {
            sys::step(tid, signal)
        } else if thread.loading || !thread.executions.is_empty() {
            sys::cont_to_syscall(tid, signal)
        } else {
            sys::cont(tid, signal)
        }
    }

    /// Sends a signal anew that cannot be delivered where the thread is stopped now; its information will be put back.
    pub(super) fn send_anew(&mut self, tid: Tid, info: SigInfo) -> Result<()> {
        let thread = self.thread_mut(tid)?;
        // Of a standard signal only one can wait.
        thread.resent.retain(|old| old.signal() != info.signal() || info.signal() >= REAL_TIME);
        thread.resent.push(info);
        let pid = thread.pid;
        sys::send(pid.0, tid, info.signal())
    }
}
