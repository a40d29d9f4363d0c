//! New threads and processes of debuggees.

use super::sys::{self, Report};
use super::thread::Thread;
use super::{Debuggee, Tracer, arch};
use crate::loader::Loader;
use crate::{EventKind, Pid, Process, Result, Stdio, Tid};

impl Tracer {
    /// A thread made another, of its own process or of a new one, which is traced already.
    pub(super) fn on_child(&mut self, tid: Tid, event: i32) -> Result<()> {
        let child = Tid(sys::event_message(tid)? as i32);
        let pid = self.thread(tid)?.pid;
        if std::fs::exists(format!("/proc/{pid}/task/{child}")).unwrap_or(false) {
            // An attach that was under way may have seen it first.
            if !self.threads.contains_key(&child) {
                self.add_thread(Thread { new: true, ..Thread::new(child, pid) });
            }
            if let Some(report) = self.early.remove(&child) {
                self.reports.push_back((child, report));
            }
            return self.go_on(tid);
        }
        let waits = event == libc::PTRACE_EVENT_VFORK;
        let shares = self.shares_memory(tid)?;
        let silent = self.is_silent(tid);
        let follow = self.options.follow_forks && !silent;
        self.thread_mut(tid)?.vforking = waits;
        let child_pid = Pid(child.0);
        let differs = self.add_child(tid, child_pid, shares, shares && !follow)?;
        self.await_first_stop(child)?;
        if shares || follow {
            self.install_answers(child_pid)?;
        }
        if !shares && follow {
            self.complete_storage(child_pid, differs)?;
        }
        if !follow {
            if shares {
                self.give_back(child, false)?;
            } else {
                self.detach(child_pid)?;
            }
            return self.go_on(tid);
        }
        if !waits {
            self.leave_call(tid)?;
        }
        self.hold(tid, EventKind::Forked { child: child_pid })?;
        let thread = self.thread_mut(child)?;
        thread.held = true;
        thread.wanted = 0;
        Ok(())
    }

    /// Whether the call that the thread is in makes a process that shares its memory.
    fn shares_memory(&self, tid: Tid) -> Result<bool> {
        let pid = self.thread(tid)?.pid;
        Ok(arch::shares_memory(&arch::read(tid)?, &self.space_of(pid)?.memory))
    }

    /// Says whether sites may have changed while its memory was copied; none of those that lost theirs is armed there.
    fn add_child(&mut self, parent: Tid, child: Pid, shares: bool, silent: bool) -> Result<bool> {
        let thread = self.thread(parent)?;
        let (pid, seen, loading) = (thread.pid, thread.seen, thread.loading);
        let executions = thread.executions.clone();
        let scratch = thread.scratch;
        let id = self.debuggee(pid)?.space;
        let space = if shares {
            if let Some(space) = self.spaces.get_mut(&id) {
                space.users += 1;
            }
            id
        } else {
            let old = self.space_of(pid)?;
            let space = old.fork(child)?;
            if seen != old.epoch {
                space.restore_retired();
            }
            self.add_space(space)
        };
        let differs = !shares && seen != self.space_of(pid)?.epoch;
        let old = self.debuggee(pid)?;
        let process = Process { pid: child, threads: Default::default(), ..old.process.clone() };
        let (loader, kill): (Loader, bool) = (old.loader.clone(), old.kill);
        let trap = self.inherited_trap(pid, child);
        let debuggee = Debuggee::new(process, space, Stdio::default(), kill);
        self.debuggees.insert(child, Debuggee { loader, trap, silent, ..debuggee });
        self.add_thread(Thread {
            seen: 0,
            loading,
            executions,
            scratch,
            wanted: 1,
            ..Thread::new(child.leader(), child)
        });
        Ok(differs)
    }

    /// Waits until a thread that was just made has stopped, which it does by itself before it runs.
    fn await_first_stop(&mut self, tid: Tid) -> Result<()> {
        while self.thread(tid)?.stop().is_none() {
            match self.report_of(tid)? {
                report @ Report::Stopped { .. } => self.on_report(tid, report)?,
                end => {
                    self.handle(tid, end)?;
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
