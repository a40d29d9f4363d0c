//! Calls of the debuggee's functions.

use super::super::Tracer;
use super::super::arch::{self, Function, Unseen};
use super::super::remote::{gate_of, stop_like_before};
use super::super::stops::Next;
use super::super::stops::trap::on_trap;
use super::super::sys::{self, PTRACE_EVENT_STOP, SYSCALL_STOP, SigInfo, insist, is_gone};
use super::super::thread::{Run, Stop};
use crate::{Address, Error, Result, Tid};

impl Tracer {
    /// Calls a function in a held thread, and puts everything back.
    pub(in crate::ptrace) fn call_function(&mut self, tid: Tid, function: Address, args: &[u64]) -> Result<u64> {
        let thread = self.tracees.thread(tid)?;
        if !thread.is_held() || thread.vforking {
            return Err(Error::NotHeld(tid));
        }
        let pid = thread.pid;
        if self.tracees.space_of(pid)?.storages.is_empty() {
            self.add_arena_near(pid, function.0)?;
        }
        self.leave_call(tid)?;
        let saved = arch::read(tid)?;
        let mask = sys::signal_mask(tid)?;
        let unseen = Unseen::read(tid)?;
        let before = self.tracees.thread(tid)?.stop();
        let mut kept = Vec::new();
        if self.tracees.watching {
            self.tracees.disarm(tid)?;
        }
        let mode = self.tracees.thread_mut(tid)?.armed.suspend();
        let result = self.start_function(tid, function, args, &mut kept);
        if let Ok(thread) = self.tracees.thread_mut(tid) {
            thread.armed.end_suspension(mode);
        }
        if result.as_ref().is_err_and(is_gone) {
            return result;
        }
        self.tracees.thread_mut(tid)?.run = Run::Free;
        loop {
            // On the way to this stop the kernel looks at restarts again. Any other stop clears the interruption.
            sys::interrupt(tid)?;
            sys::cont_to_syscall(tid, 0)?;
            if self.reports.next_stop(&mut self.tracees, tid)?.1 == PTRACE_EVENT_STOP {
                break;
            }
        }
        insist(|| unseen.restore(tid, &saved))?;
        insist(|| sys::set_signal_mask(tid, mask))?;
        stop_like_before(&mut self.tracees, tid, before, kept)?;
        result
    }

    fn start_function(&mut self, tid: Tid, function: Address, args: &[u64], kept: &mut Vec<SigInfo>) -> Result<u64> {
        let pid = self.tracees.thread(tid)?.pid;
        let fail = Error::Call { tid, function };
        let kind = self.tracees.space_of(pid)?.arch;
        let called = Function::new(self.tracees.view(tid)?, kind, function, args, gate_of(&self.tracees, pid)?);
        if sys::write_as_thread(tid, crate::arch::sp(&called.registers), &called.stack) != called.stack.len() {
            return Err(fail);
        }
        called.prepare(tid, &self.tracees.space_of(pid)?.memory)?;
        sys::set_signal_mask(tid, !sys::SYNCHRONOUS_SIGNALS)?;
        arch::write(tid, &called.registers)?;
        // The thread runs for the function now, not for the user.
        let thread = self.tracees.thread_mut(tid)?;
        let (hold, reported_at) = (std::mem::take(&mut thread.hold), thread.reported_at.take());
        let goal = std::mem::take(&mut thread.goal);
        let (run, scratch) = (std::mem::replace(&mut thread.run, Run::Free), thread.slot.scratch.take());
        let result = self.run_function(tid, called.back, kept, fail);
        if let Ok(thread) = self.tracees.thread_mut(tid) {
            (thread.hold, thread.reported_at, thread.goal) = (hold, reported_at, goal);
            (thread.run, thread.slot.scratch) = (run, scratch);
        }
        result
    }

    /// Runs the thread to the breakpoint instruction at `back`, past breakpoints on the way. Signals that arrive are kept.
    fn run_function(&mut self, tid: Tid, back: u64, kept: &mut Vec<SigInfo>, fail: Error) -> Result<u64> {
        sys::cont(tid, 0)?;
        loop {
            let (signal, event) = self.reports.next_stop(&mut self.tracees, tid)?;
            if event != 0 || signal == SYSCALL_STOP {
                sys::cont(tid, 0)?;
                continue;
            }
            let info = sys::siginfo(tid)?;
            self.tracees.set_stop(tid, Stop::Trap)?;
            if signal != libc::SIGTRAP {
                if info.is_synchronous() {
                    return Err(fail);
                }
                kept.push(info);
                sys::cont(tid, 0)?;
                continue;
            }
            let next = if self.tracees.thread(tid)?.step().is_some() {
                on_trap(self, tid, info)?
            } else {
                let at = self.tracees.trap_address(tid)?;
                if arch::is_breakpoint(&info) && at == back {
                    return Ok(Function::answer(&arch::read(tid)?));
                }
                let space = self.tracees.space_at(tid)?;
                match space.sites.get(&at) {
                    Some(&slot) => Next::Pass(slot),
                    None if space.place(at).is_some() => on_trap(self, tid, info)?,
                    None => return Err(fail),
                }
            };
            self.apply(tid, next)?;
        }
    }
}
