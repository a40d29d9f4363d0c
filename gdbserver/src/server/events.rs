//! What an event of the session means for the client: it decides, and the caller acts.

use ubp::{Event, EventKind, Hit, Pid, Session, Signal, Tid};

use super::inferior::Inferior;
use super::stop::{Stop, StopKind};
use super::{Server, world::Thread};
use crate::agent::{Expression, evaluate};

/// What is done about an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The thread goes on, with the signal that the event reports.
    GoOn,
    /// The thread steps again.
    Step,
    /// The client is told.
    Tell(StopKind),
    /// Nothing: the thread is gone.
    Nothing,
}

impl Server {
    /// Takes all events that there are. Each stop that the client is to see is queued.
    pub(super) fn take_events(&mut self) -> ubp::Result<()> {
        while let Some(event) = self.session.poll()? {
            let (pid, tid) = (event.pid, event.tid);
            let is_held = event.is_held();
            match self.judge(event) {
                Next::Tell(kind) => self.pending.push_back(Stop { pid, tid, kind }),
                // In a program that the client looks at, a thread waits for the client.
                Next::GoOn if self.is_frozen(pid) => self.keep_signal(pid, tid),
                Next::Step if self.is_frozen(pid) => {}
                Next::GoOn if is_held => gone_is_fine(self.session.resume(tid))?,
                Next::Step => gone_is_fine(self.session.step(tid))?,
                Next::GoOn | Next::Nothing => {}
            }
        }
        Ok(())
    }

    /// Notes the signal of a thread that cannot go on now, to deliver it later.
    fn keep_signal(&mut self, pid: Pid, tid: Tid) {
        let signal = signal_of(&mut self.session, tid);
        if let Some(inferior) = self.inferiors.get_mut(&pid) {
            inferior.doing(tid).owed = signal;
        }
    }

    fn judge(&mut self, event: Event) -> Next {
        let (pid, tid) = (event.pid, event.tid);
        let is_leaving = self.inferiors.get(&pid).is_none_or(|inferior| inferior.leaving);
        if is_leaving
            && !matches!(
                event.kind,
                EventKind::Exec | EventKind::Exited(_) | EventKind::Killed(_) | EventKind::Forked { .. }
            )
        {
            return if event.is_held() { Next::GoOn } else { Next::Nothing };
        }
        match event.kind {
            EventKind::Hit(hit) => self.hit(pid, tid, &hit),
            EventKind::Stepped => self.stepped(pid, tid),
            EventKind::Exec => self.executed(pid),
            EventKind::Forked { child } => self.forked(pid, tid, child),
            EventKind::VforkDone => self.vfork_done(pid, tid),
            EventKind::ThreadStarted if self.client.thread_events => Next::Tell(StopKind::ThreadStarted),
            EventKind::ThreadExited => {
                if let Some(inferior) = self.inferiors.get_mut(&pid) {
                    inferior.threads.remove(&tid);
                }
                if self.client.thread_events { Next::Tell(StopKind::ThreadExited) } else { Next::Nothing }
            }
            EventKind::Signal(info) if self.client.passed.contains(&info.signal.0) => Next::GoOn,
            EventKind::Signal(info) => Next::Tell(StopKind::Signal(info.signal)),
            EventKind::Watched { id, address } => self.watched(pid, id, address.0),
            EventKind::SyscallEntered(syscall) => Next::Tell(StopKind::SyscallEntered(syscall.number)),
            EventKind::SyscallReturned(syscall) => Next::Tell(StopKind::SyscallReturned(syscall.number)),
            EventKind::Interrupted => self.interrupted(pid, tid),
            EventKind::Exited(status) => self.ended(pid, StopKind::Exited(status)),
            EventKind::Killed(signal) => self.ended(pid, StopKind::Killed(signal)),
            _ => Next::GoOn,
        }
    }

    /// A breakpoint is hit: the conditions that the session does not know decide.
    fn hit(&mut self, pid: Pid, tid: Tid, hit: &Hit) -> Next {
        let Some(inferior) = self.inferiors.get_mut(&pid) else { return Next::GoOn };
        let address = hit.address().0;
        let is_step = inferior.doing(tid).stepping.take().is_some();
        let otherwise = if is_step { Next::Tell(StopKind::Trap) } else { Next::GoOn };
        let Some(inserted) =
            inferior.breakpoints.get(&address).filter(|inserted| inserted.id.is_some_and(|id| hit.is_of(id)))
        else {
            return otherwise;
        };
        let (conditions, commands) = (inserted.conditions.clone(), inserted.commands.clone());
        if !self.holds(pid, tid, &conditions) {
            return otherwise;
        }
        if commands.is_empty() {
            return Next::Tell(StopKind::Breakpoint(address));
        }
        for command in &commands {
            self.run(pid, tid, command);
        }
        otherwise
    }

    /// Whether one of the conditions holds, or cannot be evaluated: the user looks at that then.
    fn holds(&mut self, pid: Pid, tid: Tid, conditions: &[Expression]) -> bool {
        conditions.is_empty() || conditions.iter().any(|condition| self.run(pid, tid, condition) != Some(0))
    }

    /// The value of an expression; `None` if it has none.
    fn run(&mut self, pid: Pid, tid: Tid, expression: &Expression) -> Option<u64> {
        let inferior = self.inferiors.get(&pid)?;
        let mut thread = Thread::new(&mut self.session, pid, tid, &inferior.description);
        let value = evaluate(expression, &mut thread).ok();
        let printed = thread.into_printed();
        self.show(&printed);
        value
    }

    fn stepped(&mut self, pid: Pid, tid: Tid) -> Next {
        let Some(inferior) = self.inferiors.get_mut(&pid) else { return Next::GoOn };
        let range = inferior.doing(tid).stepping.clone().unwrap_or_default();
        let pc = self.session.registers(tid).map(|registers| registers.pc().0);
        if pc.is_ok_and(|pc| range.contains(&pc)) {
            return Next::Step;
        }
        inferior.doing(tid).stepping = None;
        Next::Tell(StopKind::Trap)
    }

    fn executed(&mut self, pid: Pid) -> Next {
        let Some(inferior) = self.inferiors.get_mut(&pid) else { return Next::GoOn };
        inferior.is_guest = false;
        if inferior.leaving {
            self.let_go(pid);
            return Next::Nothing;
        }
        inferior.begin_program(&mut self.session, pid);
        let path = self.session.process(pid).map(|process| process.executable().to_path_buf()).unwrap_or_default();
        Next::Tell(if self.client.exec_events { StopKind::Exec(path) } else { StopKind::Trap })
    }

    fn forked(&mut self, pid: Pid, tid: Tid, child: Pid) -> Next {
        let is_vfork = self.session.shares_memory(pid, child);
        let Some(inferior) = self.inferiors.get_mut(&pid) else { return Next::GoOn };
        let is_told = !inferior.leaving && if is_vfork { self.client.vfork_events } else { self.client.fork_events };
        let mut new = inferior.child(is_vfork);
        new.leaving = !is_told;
        inferior.doing(tid).vforking = is_vfork && is_told;
        self.inferiors.insert(child, new);
        if is_told {
            return Next::Tell(StopKind::Forked { child, is_vfork });
        }
        if is_vfork {
            // It has its parent's memory, and so the breakpoints, until it executes a program.
            let _ = self.session.resume(child.leader());
        } else {
            self.let_go(child);
        }
        Next::GoOn
    }

    /// The child of a vfork has left the thread's memory. A client that saw the vfork has taken the breakpoints out of that memory meanwhile.
    fn vfork_done(&mut self, pid: Pid, tid: Tid) -> Next {
        let doing = self.inferiors.get_mut(&pid).map(|inferior| inferior.doing(tid));
        let was_told = doing.is_some_and(|doing| std::mem::take(&mut doing.vforking));
        if was_told { Next::Tell(StopKind::VforkDone) } else { Next::GoOn }
    }

    fn watched(&mut self, pid: Pid, id: ubp::WatchId, address: u64) -> Next {
        let found = self
            .inferiors
            .get(&pid)
            .and_then(|inferior| inferior.watchpoints.iter().find(|(_, own)| **own == id).map(|(&(kind, _), _)| kind));
        match found {
            Some(1) => Next::Tell(StopKind::HardwareBreakpoint(address)),
            Some(2) => Next::Tell(StopKind::Watch("watch", address)),
            Some(3) => Next::Tell(StopKind::Watch("rwatch", address)),
            Some(_) => Next::Tell(StopKind::Watch("awatch", address)),
            None => Next::GoOn,
        }
    }

    fn interrupted(&mut self, pid: Pid, tid: Tid) -> Next {
        let Some(inferior) = self.inferiors.get_mut(&pid) else { return Next::GoOn };
        if std::mem::take(&mut inferior.doing(tid).pausing) { Next::Tell(StopKind::Paused) } else { Next::GoOn }
    }

    fn ended(&mut self, pid: Pid, kind: StopKind) -> Next {
        let known = self.forget(pid);
        match known {
            Some(inferior) if !inferior.leaving => Next::Tell(kind),
            _ => Next::Nothing,
        }
    }

    /// Stops tracing a process, which runs on.
    pub(super) fn let_go(&mut self, pid: Pid) {
        self.forget(pid);
        // A process that has ended meanwhile needs no detaching.
        let _ = self.session.detach(pid);
    }

    fn forget(&mut self, pid: Pid) -> Option<Inferior> {
        let known = self.inferiors.remove(&pid);
        self.pending.retain(|stop| stop.pid != pid);
        if self.selected.is_some_and(|(selected, _)| selected == pid) {
            self.selected = self.threads().first().copied();
        }
        known
    }

    /// Whether a pending stop still has a reason: the client may have removed the breakpoint meanwhile.
    pub(super) fn is_valid(&self, stop: &Stop) -> bool {
        let inferior: Option<&Inferior> = self.inferiors.get(&stop.pid);
        match stop.kind {
            StopKind::Breakpoint(address) => {
                inferior.is_some_and(|inferior| inferior.breakpoints.contains_key(&address))
            }
            StopKind::HardwareBreakpoint(address) => {
                inferior.is_some_and(|inferior| inferior.watchpoints.contains_key(&(1, address)))
            }
            _ => true,
        }
    }
}

/// The result of an operation on a thread that may have been killed meanwhile: its end is reported.
pub(super) fn gone_is_fine(result: ubp::Result<()>) -> ubp::Result<()> {
    match result {
        Err(ubp::Error::NoSuchThread(_) | ubp::Error::NotHeld(_) | ubp::Error::NoSuchProcess(_)) => Ok(()),
        other => other,
    }
}

/// The signal that a held thread was stopped by.
fn signal_of(session: &mut Session, tid: Tid) -> Option<Signal> {
    session.signal_info(tid).ok().flatten().map(|info| info.signal)
}
