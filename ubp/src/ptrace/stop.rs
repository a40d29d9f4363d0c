//! What a thread's report means.

use super::sys::{self, PTRACE_EVENT_STOP, Report};
use super::thread::{State, Stop};
use super::{Tracer, arch, is_gone};
use crate::arch::BEHIND;
use crate::{EventKind, Result, Signal, Tid};

/// What the stop signal of a system call stop is with `PTRACE_O_TRACESYSGOOD`.
const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;

impl Tracer {
    pub(super) fn on_report(&mut self, tid: Tid, report: Report) -> Result<()> {
        let (signal, event) = match report {
            Report::Exited(code) => return self.on_end(tid, EventKind::Exited(code)),
            Report::Killed(signal) => return self.on_end(tid, EventKind::Killed(Signal(signal))),
            Report::Stopped { signal, event } => (signal, event),
        };
        if event == libc::PTRACE_EVENT_EXEC {
            return self.on_exec(tid);
        }
        match event {
            PTRACE_EVENT_STOP => self.on_interruption(tid, signal),
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                self.set_stop(tid, Stop::InSyscall)?;
                self.on_child(tid, event)
            }
            libc::PTRACE_EVENT_VFORK_DONE => {
                self.set_stop(tid, Stop::InSyscall)?;
                self.thread_mut(tid)?.vforking = false;
                self.go_on(tid)
            }
            0 if signal == SYSCALL_STOP => {
                self.set_stop(tid, Stop::Syscall)?;
                self.on_syscall(tid)
            }
            0 => {
                let info = match sys::siginfo(tid) {
                    Ok(info) => info,
                    // Not a signal about to be delivered after all.
                    Err(error) if !is_gone(&error) => {
                        self.set_stop(tid, Stop::Event)?;
                        return self.go_on(tid);
                    }
                    Err(error) => return Err(error),
                };
                self.set_stop(tid, Stop::Signal(info))?;
                if info.signal() == libc::SIGTRAP { self.on_trap(tid, info) } else { self.on_signal(tid, info) }
            }
            _ => {
                self.set_stop(tid, Stop::InSyscall)?;
                self.go_on(tid)
            }
        }
    }

    pub(super) fn set_stop(&mut self, tid: Tid, stop: Stop) -> Result<()> {
        self.thread_mut(tid)?.state = State::Stopped(stop);
        Ok(())
    }

    /// A thread, or with its last thread a process, ended.
    fn on_end(&mut self, tid: Tid, kind: EventKind) -> Result<()> {
        let Some(thread) = self.threads.remove(&tid) else { return Ok(()) };
        let pid = thread.pid;
        let debuggee = self.debuggee(pid)?;
        let (silent, space) = (debuggee.silent, debuggee.space);
        if tid == pid.leader() {
            if !silent {
                // Of a space that the user knows others in the breakpoints are not only this process'.
                let last = if self.owners(space) == 1 {
                    std::mem::take(&mut self.space_of_mut(pid)?.breakpoints)
                } else {
                    Vec::new()
                };
                self.ended.insert(pid, last);
            }
            self.forget(pid);
            self.events.retain(|event| event.pid != pid || !event.is_held());
        } else {
            self.debuggee_mut(pid)?.process.threads.remove(&tid);
            self.events.retain(|event| event.tid != tid || !event.is_held());
        }
        match kind {
            _ if silent => {}
            _ if tid == pid.leader() => self.emit(pid, tid, kind),
            _ if self.options.threads => self.emit(pid, tid, EventKind::ThreadExited),
            _ => {}
        }
        self.release_orphans(space)
    }

    /// An interruption, a job control stop or its end, or the first stop of a new thread.
    fn on_interruption(&mut self, tid: Tid, signal: i32) -> Result<()> {
        self.set_stop(tid, if signal == libc::SIGTRAP { Stop::Event } else { Stop::Group })?;
        self.thread_mut(tid)?.vforking = false;
        if self.trap_first(tid)? {
            return Ok(());
        }
        self.restart_interrupted_call(tid)?;
        self.note_seen(tid)?;
        let thread = self.thread_mut(tid)?;
        if std::mem::take(&mut thread.new) && !self.is_silent(tid) && self.options.threads {
            return self.hold(tid, EventKind::ThreadStarted);
        }
        let thread = self.thread_mut(tid)?;
        if std::mem::take(&mut thread.interrupted) {
            return self.hold(tid, EventKind::Interrupted);
        }
        self.go_on(tid)
    }

    pub(super) fn is_silent(&self, tid: Tid) -> bool {
        self.threads
            .get(&tid)
            .and_then(|thread| self.debuggees.get(&thread.pid))
            .is_some_and(|debuggee| debuggee.silent)
    }

    /// Remembers that the thread is in no slot now, if so: slots that lost their site before are not entered any more.
    pub(super) fn note_seen(&mut self, tid: Tid) -> Result<()> {
        let pc = arch::pc(tid)?;
        let pid = self.thread(tid)?.pid;
        let space = self.space_of(pid)?;
        if space.slot_at(pc).is_none() {
            let epoch = space.epoch;
            self.thread_mut(tid)?.seen = epoch;
        }
        Ok(())
    }

    /// An interruption is reported before a signal that the thread's last instruction raised, of which the thread may be at a
    /// breakpoint or in a slot. Lets that signal come first, and says so.
    fn trap_first(&mut self, tid: Tid) -> Result<bool> {
        let thread = self.thread(tid)?;
        let group = matches!(thread.stop(), Some(Stop::Group));
        if group && thread.wanted == 0 && !thread.interrupted {
            // When the job goes on it will come.
            return Ok(false);
        }
        let pc = arch::pc(tid)?;
        let space = self.space_of(thread.pid)?;
        let concerned =
            thread.step.is_some() || space.slot_at(pc).is_some() || space.find(pc.wrapping_sub(BEHIND)).is_some();
        if !concerned || !super::status::Status::read(tid)?.trap_due() {
            return Ok(false);
        }
        let thread = self.thread_mut(tid)?;
        thread.state = State::Running;
        thread.again = thread.interrupted;
        sys::cont(tid, 0)?;
        Ok(true)
    }

    /// Undoes what our interruption did to a system call that the kernel does not restart by itself: such calls return `EINTR`,
    /// which the program would not have seen.
    fn restart_interrupted_call(&mut self, tid: Tid) -> Result<()> {
        let mut registers = arch::read(tid)?;
        let pid = self.thread(tid)?.pid;
        let call = self.thread_mut(tid)?.call.take();
        if call.is_some_and(|call| call.keep_rest(&mut registers)) {
            return arch::write(tid, &registers);
        }
        if !arch::returned_eintr(&registers, &self.space_of(pid)?.memory) {
            return Ok(());
        }
        // A signal may be the true cause.
        if super::status::Status::read(tid)?.handler_due() {
            return Ok(());
        }
        arch::restart(tid, &mut registers, call)?;
        arch::write(tid, &registers)
    }
}
