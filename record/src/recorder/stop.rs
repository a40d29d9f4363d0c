//! The kernel's reports about threads, and how threads go on.

use std::io::Write;

use super::error::RecordError;
use super::part::Stage;
use super::process::{self, Process};
use super::sys::{self, EVENT_STOP, Report, SYSGOOD};
use super::thread::State;
use super::{Ended, Recorder, Threads, alive, arch};
use crate::item::EventKind;

impl<W: Write> Recorder<W> {
    /// Handles a report, and lets the thread go on.
    pub(super) fn report(&mut self, tid: u32, report: Report) -> Result<(), RecordError> {
        if !self.threads.contains_key(&tid) {
            // A child may stop before its parent reports it.
            self.early.insert(tid, report);
            return Ok(());
        }
        match report {
            Report::Exited(status) => self.ended_thread(tid, Ended::Exited(status)),
            Report::Killed(signal) => self.ended_thread(tid, Ended::Killed(signal)),
            Report::Stopped { signal, event: 0 } if signal == libc::SIGTRAP | SYSGOOD => self.at_syscall(tid),
            Report::Stopped { signal, event: 0 } => self.signal(tid, signal),
            Report::Stopped { signal, event: EVENT_STOP } => self.stopped(tid, signal),
            Report::Stopped { event: libc::PTRACE_EVENT_EXEC, .. } => self.exec(tid),
            Report::Stopped {
                event: libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK,
                ..
            } => self.made(tid),
            Report::Stopped { .. } => self.go_on(tid),
        }
    }

    fn ended_thread(&mut self, tid: u32, how: Ended) -> Result<(), RecordError> {
        let thread = self.thread(tid)?;
        let pid = thread.pid;
        // exit and exit_group never return.
        if matches!(thread.state, State::InCall) {
            self.unfinished(tid)?;
        }
        self.tell(
            tid,
            match how {
                Ended::Exited(status) => EventKind::Exited(status as u32),
                Ended::Killed(signal) => EventKind::Killed(signal as u32),
            },
        )?;
        self.forget(tid);
        if tid == self.first && tid == pid {
            self.ended = Some(how);
        }
        Ok(())
    }

    /// Drops a thread, and its process with the last one.
    pub(super) fn forget(&mut self, tid: u32) {
        let Some(thread) = self.threads.remove(&tid) else { return };
        if !self.threads.values().any(|other| other.pid == thread.pid) {
            self.processes.remove(&thread.pid);
        }
    }

    /// A stop at the entry or exit of a system call.
    fn at_syscall(&mut self, tid: u32) -> Result<(), RecordError> {
        let registers = alive!("PTRACE_GETREGS", tid, arch::registers(tid));
        let thread = self.thread(tid)?;
        let registers = arch::shown(&registers, &thread.before.registers);
        match thread.state {
            State::Entering => {
                thread.state = State::InCall;
                if std::mem::take(&mut thread.may_restart) {
                    // The kernel has set the thread back to the call.
                    let at_call = arch::moved(&registers, arch::pc(&registers).wrapping_sub(arch::CALL_LENGTH));
                    self.tell(tid, EventKind::Moved)?;
                    self.prepare(tid, at_call)?;
                }
                let thread = self.thread(tid)?;
                let pid = thread.pid;
                let number = arch::call_number(&registers);
                let changes = arch::changes_mappings(number, thread.bits.flatten());
                if let Some(process) = self.processes.get_mut(&pid).filter(|_| changes) {
                    process.stale = true;
                }
                self.tell(tid, EventKind::Syscall(number))?;
                self.go_on(tid)
            }
            State::InCall => {
                let is_hidden = arch::hides_registers(&thread.before.registers);
                self.completed(tid, &registers)?;
                self.left_syscall(tid, &registers)?;
                if is_hidden {
                    self.thread(tid)?.may_restart = false;
                    self.stop_again(tid)
                } else {
                    self.resume_from(tid, registers)
                }
            }
            _ => {
                self.left_syscall(tid, &registers)?;
                self.resume_from(tid, registers)
            }
        }
    }

    /// After a system call, or what looks like one: the signal mask may have changed, and the call may restart.
    pub(super) fn left_syscall(&mut self, tid: u32, registers: &libc::user_regs_struct) -> Result<(), RecordError> {
        let thread = self.thread(tid)?;
        thread.may_restart = arch::may_restart(registers, thread.bits);
        self.look_at_mask(tid)
    }

    /// A new thread's first stop, a requested stop, or a group stop.
    fn stopped(&mut self, tid: u32, signal: i32) -> Result<(), RecordError> {
        let thread = self.thread(tid)?;
        if signal != libc::SIGTRAP {
            if thread.state != State::Listening {
                thread.resumed = thread.state;
            }
            thread.state = State::Listening;
            alive!("PTRACE_LISTEN", tid, sys::listen(tid));
            return Ok(());
        }
        if thread.state == State::Listening {
            thread.state = thread.resumed;
        }
        match thread.state {
            State::New => {
                let registers = alive!("PTRACE_GETREGS", tid, arch::registers(tid));
                if arch::STANDS_BEHIND_CALL {
                    self.left_syscall(tid, &registers)?;
                } else {
                    self.look_at_mask(tid)?;
                }
                self.resume_from(tid, registers)
            }
            State::Asked => {
                let now = alive!("PTRACE_GETREGS", tid, arch::registers(tid));
                let before = thread.before.registers;
                if (arch::pc(&now), arch::stack(&now)) != (arch::pc(&before), arch::stack(&before)) {
                    // A handler runs: an interrupted call restarts, if at all, when the handler returns.
                    thread.may_restart = false;
                }
                self.look_at_mask(tid)?;
                self.resume(tid)
            }
            _ => self.go_on(tid),
        }
    }

    /// The process has executed another program.
    fn exec(&mut self, tid: u32) -> Result<(), RecordError> {
        let former = alive!("PTRACE_GETEVENTMSG", tid, sys::event_message(tid)) as u32;
        let former = if self.threads.contains_key(&former) { former } else { tid };
        self.unfinished(former)?;
        let pid = self.thread(former)?.pid;
        if former != tid {
            // The thread that executed the program has taken the first thread's number.
            self.tell(former, EventKind::Exited(0))?;
            self.forget(former);
        }
        let others: Vec<u32> = self.threads.iter().filter(|(_, t)| t.pid == pid).map(|(&tid, _)| tid).collect();
        let is_known = others.contains(&tid);
        let was_recorded = self.threads.get(&tid).is_some_and(|thread| thread.recorded);
        for other in others {
            self.forget(other);
        }
        if !is_known {
            self.adopt(tid, pid, former)?;
        }
        let adopted = self.threads.insert(tid, super::Thread::new(pid));
        self.thread(tid)?.recorded = was_recorded || adopted.is_some_and(|thread| thread.recorded);
        if self.stage == Stage::Within {
            self.take_in(tid, 0)?;
        }
        self.part.iter_mut().for_each(|part| part.executed(pid));
        let opened = Process::open(pid);
        let opened = opened.map_err(|source| RecordError::System { call: "opening the memory", tid, source })?;
        self.processes.insert(pid, opened);
        self.tell(tid, EventKind::Exec)?;
        self.thread(tid)?.state = State::InExec;
        self.go_on(tid)
    }

    /// The thread has made a thread or process.
    fn made(&mut self, tid: u32) -> Result<(), RecordError> {
        let child = alive!("PTRACE_GETEVENTMSG", tid, sys::event_message(tid)) as u32;
        let early = self.early.remove(&child);
        if let Some((pid, _)) = process::status(child) {
            let is_wanted = self.options.follow_forks || self.thread(tid)?.pid == pid;
            let is_wanted = is_wanted && (self.options.threads == Threads::All || pid == child);
            if is_wanted {
                self.adopt(child, pid, tid)?;
                if let Some(report) = early {
                    self.report(child, report)?;
                }
            } else {
                self.let_go(child, early.is_some())?;
            }
        }
        self.go_on(tid)
    }

    /// Lets a thread go on as before, after a stop that the program did not cause.
    pub(super) fn go_on(&mut self, tid: u32) -> Result<(), RecordError> {
        let gone_on = match self.thread(tid)?.state {
            State::Stepping => sys::step(tid),
            State::Running => sys::cont(tid, 0),
            _ => sys::go_to_syscall(tid),
        };
        alive!("PTRACE_SYSCALL", tid, gone_on);
        Ok(())
    }
}
