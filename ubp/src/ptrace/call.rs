//! Running a function of the debuggee.

use super::arch::{Function, Unseen};
use super::sys::{self, PTRACE_EVENT_STOP, Report, SigInfo};
use super::thread::{State, Stop};
use super::{Tracer, arch};
use crate::{Address, Error, Result, Tid};

/// Signals that the called function itself raises by its instructions: they are not blocked.
const FAULTS: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// What a thread that runs a function lets through.
pub(super) fn unblocked() -> u64 {
    FAULTS.iter().fold(0, |set, &signal| set | crate::Signal(signal).bit())
}

impl Tracer {
    pub(super) fn call(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64> {
        let thread = self.thread(tid)?;
        if !thread.held || thread.vforking {
            return Err(Error::NotHeld(tid));
        }
        let pid = thread.pid;
        if self.space_of(pid)?.storages.is_empty() {
            self.map_arena(pid, function.0, function.0, 1)?;
        }
        self.leave_call(tid)?;
        let saved = arch::read(tid)?;
        let mask = sys::signal_mask(tid)?;
        let unseen = Unseen::read(tid)?;
        let stop = self.thread(tid)?.stop();
        let mut kept = Vec::new();
        let result = self.call_by(tid, function, args, &mut kept);
        if matches!(result, Err(Error::NoSuchThread(_))) {
            return result;
        }
        // To a stop in which the kernel looks at restarts again.
        sys::interrupt(tid)?;
        self.thread_mut(tid)?.step = None;
        loop {
            sys::cont_to_syscall(tid, 0)?;
            match self.report_of(tid)? {
                Report::Stopped { event: PTRACE_EVENT_STOP, .. } => break,
                Report::Stopped { .. } => {}
                end => return self.ended(tid, end),
            }
        }
        unseen.restore(tid, &saved)?;
        sys::set_signal_mask(tid, mask)?;
        self.stop_anew(tid, stop, kept)?;
        result
    }

    fn ended<T>(&mut self, tid: Tid, end: Report) -> Result<T> {
        self.reports.push_front((tid, end));
        self.thread_mut(tid)?.state = State::Running;
        Err(Error::NoSuchThread(tid))
    }

    fn call_by(&mut self, tid: Tid, function: Address, args: &[u64], kept: &mut Vec<SigInfo>) -> Result<u64> {
        let pid = self.thread(tid)?.pid;
        let fail = Error::Call { tid, function };
        let kind = self.space_of(pid)?.arch;
        let called = Function::new(self.view(tid)?, kind, function, args, self.gate_of(pid)?);
        if sys::write_as_thread(tid, crate::arch::sp(&called.registers), &called.stack) != called.stack.len() {
            return Err(fail);
        }
        called.prepare(tid, &self.space_of(pid)?.memory)?;
        sys::set_signal_mask(tid, !unblocked())?;
        arch::write(tid, &called.registers)?;
        let stepping = self.thread_mut(tid)?.step.take();
        let scratch = self.thread_mut(tid)?.scratch.take();
        let result = self.run_function(tid, called.back, kept, fail);
        if let Ok(thread) = self.thread_mut(tid) {
            (thread.step, thread.scratch) = (stepping, scratch);
        }
        result
    }

    fn run_function(&mut self, tid: Tid, back: u64, kept: &mut Vec<SigInfo>, fail: Error) -> Result<u64> {
        let pid = self.thread(tid)?.pid;
        sys::cont(tid, 0)?;
        loop {
            let signal = match self.report_of(tid)? {
                Report::Stopped { signal, event: 0 } => signal,
                Report::Stopped { .. } => {
                    sys::cont(tid, 0)?;
                    continue;
                }
                end => return self.ended(tid, end),
            };
            let info = sys::siginfo(tid)?;
            self.set_stop(tid, Stop::Trap)?;
            if signal != libc::SIGTRAP {
                if info.is_synchronous() {
                    return Err(fail);
                }
                kept.push(info);
                sys::cont(tid, 0)?;
                continue;
            }
            if self.thread(tid)?.step.is_some() {
                self.on_trap(tid, info)?;
                continue;
            }
            let at = self.trap_address(tid)?;
            if arch::is_breakpoint(&info) && at == back {
                return Ok(Function::answer(&arch::read(tid)?));
            }
            let space = self.space_of(pid)?;
            if let Some(&slot) = space.sites.get(&at) {
                self.pass(tid, slot)?;
            } else if space.place(at).is_some() {
                self.on_trap(tid, info)?;
            } else {
                return Err(fail);
            }
        }
    }
}
