//! Processes: spawn, attach, fork, exec, detach.

use std::collections::{BTreeSet, VecDeque};
use std::process::Command as Program;

use wire::commands::{Command, Reply, option};

use super::channel::Told;
use super::site::Goal;
use super::{Debuggee, Held, Kernel, failed};
use crate::arch::mode;
use crate::backend::Blocking;
use crate::process::{read_process, read_threads};
use crate::{Error, Pid, Process, Result, Stdio, Syscalls, Tid, ptrace};

impl Kernel {
    pub(super) fn spawn(&mut self, program: Program) -> Result<Pid> {
        // ptrace holds the program at its exec until the channel traces it.
        let (pid, stdio) = ptrace::start(program, self.options.exit_kill)?;
        let kill = if self.options.exit_kill { option::KILL } else { 0 };
        match self.take_over(pid, kill) {
            Ok(()) => {
                let debuggee = self.debuggee_mut(pid)?;
                (debuggee.stdio, debuggee.child) = (stdio, true);
                Ok(pid)
            }
            Err(error) => {
                self.debuggees.remove(&pid);
                ptrace::end(pid);
                Err(error)
            }
        }
    }

    /// Takes over a program that ptrace holds at its exec.
    fn take_over(&mut self, pid: Pid, options: u64) -> Result<()> {
        let tid = pid.leader();
        self.take(read_process(pid)?, options)?;
        let hold = Command::Hold { debuggee: self.debuggee(pid)?.number, thread: tid.0 as u64 };
        let told = self.channel.ask(hold, |told| told.map(drop))?;
        told.map_err(|failure| failed(pid, "hold", failure))?;
        ptrace::release(tid)?;
        let number = self.debuggee(pid)?.number;
        loop {
            match self.channel.next(Blocking::Always)? {
                Some(Told::Held { debuggee, thread, .. }) if (debuggee, thread) == (number, tid.0 as u64) => break,
                Some(Told::Ended { debuggee, .. }) if debuggee == number => return Err(Error::NoSuchProcess(pid)),
                Some(told) => self.on_told(told)?,
                None => {}
            }
        }
        self.hold_silently(pid, tid);
        self.choose(pid, self.options.syscalls)?;
        self.watch_loading(pid)
    }

    pub(super) fn attach(&mut self, pid: Pid) -> Result<Pid> {
        let process = read_process(pid)?;
        if self.debuggees.contains_key(&pid) {
            return Err(Error::AlreadyTraced { pid, tracer: Pid(std::process::id() as i32) });
        }
        let threads = read_threads(pid)?;
        if !threads.contains(&pid.leader()) {
            return Err(Error::NoSuchProcess(pid));
        }
        self.take(process, 0)?;
        let ready = self.choose(pid, self.options.syscalls).and_then(|()| self.watch_loader(pid));
        match ready {
            // Without room for storage no breakpoint can be inserted either, which will return the error.
            Ok(()) | Err(Error::NoRoom { .. }) => Ok(pid),
            Err(error) => {
                self.detach(pid)?;
                Err(error)
            }
        }
    }

    /// Begins to trace a process over the channel.
    fn take(&mut self, mut process: Process, options: u64) -> Result<()> {
        let pid = process.pid;
        let options = options | self.options_of_debuggees();
        let told = self.channel.ask(Command::Attach { process: pid.0 as u64, options }, |told| {
            told.map(|reply| match reply {
                Reply::Attach { debuggee } => debuggee,
                _ => 0,
            })
        })?;
        let number = told.map_err(|failure| failed(pid, "attach", failure))?;
        process.threads = read_threads(pid)?;
        self.add(process, number);
        Ok(())
    }

    /// The options of all debuggees.
    pub(super) fn options_of_debuggees(&self) -> u64 {
        let children = if self.options.follow_forks { option::CHILDREN | option::HOLD_NEW } else { 0 };
        let threads = if self.options.threads { option::HOLD_NEW } else { 0 };
        children | threads | option::HOLD_EXECUTED | option::KEEP
    }

    pub(super) fn add(&mut self, process: Process, number: u64) {
        let debuggee = Debuggee {
            number,
            mode: mode(process.arch),
            sites: Default::default(),
            breakpoints: Vec::new(),
            loader: Default::default(),
            syscalls: Syscalls::NONE,
            watching: Default::default(),
            stdio: Stdio::default(),
            child: false,
            process,
        };
        self.aggregations.note(number, debuggee.process.pid);
        self.debuggees.insert(debuggee.process.pid, debuggee);
    }

    pub(super) fn detach(&mut self, pid: Pid) -> Result<()> {
        let debuggee = self.debuggee(pid)?.number;
        let told = self.channel.ask(Command::Detach { debuggee }, |told| told.map(drop))?;
        match told.map_err(|failure| failed(pid, "detach", failure)) {
            Ok(()) | Err(Error::NoSuchProcess(_)) => {}
            other => return other,
        }
        self.note_hits();
        self.nobody_is_held(pid);
        self.debuggees.remove(&pid);
        self.events.retain(|event| event.pid != pid);
        Ok(())
    }

    /// A process created another, which will be held before it runs.
    pub(super) fn on_forked(&mut self, debuggee: u64, child: Pid, number: u64) -> Result<()> {
        let Some(parent) = self.named(debuggee) else { return Ok(()) };
        if number == 0 || number == debuggee {
            return Ok(());
        }
        let old = self.debuggee(parent)?;
        let threads = BTreeSet::from([child.leader()]);
        let process = Process { pid: child, threads, ..old.process.clone() };
        let (loader, sites, breakpoints) = (old.loader.clone(), old.sites.clone(), old.breakpoints.clone());
        let (syscalls, watching) = (old.syscalls, old.watching.clone());
        self.add(process, number);
        let Kernel { channel, debuggees, .. } = self;
        if let Some(copy) = debuggees.get_mut(&child) {
            (copy.loader, copy.sites, copy.breakpoints) = (loader, sites, breakpoints);
            (copy.syscalls, copy.watching) = (syscalls, watching);
            copy.begin_anew(channel)?;
        }
        self.born.insert(child.leader(), parent);
        Ok(())
    }

    /// A process executed another program. Its thread will be held before the first instruction.
    pub(super) fn on_executed(&mut self, debuggee: u64, before: u64) -> Result<()> {
        let Some(pid) = self.named(debuggee) else { return Ok(()) };
        self.nobody_is_held(pid);
        let mut process = read_process(pid)?;
        process.threads = BTreeSet::from([pid.leader()]);
        let Kernel { channel, debuggees, .. } = self;
        let Some(debuggee) = debuggees.get_mut(&pid) else { return Ok(()) };
        // The counts are in the previous memory, unless that belonged to the parent.
        let number = std::mem::replace(&mut debuggee.number, before);
        let settled = debuggee.settle(channel);
        debuggee.number = number;
        settled?;
        if before != 0 {
            channel.post(Command::Detach { debuggee: before })?;
        }
        debuggee.mode = mode(process.arch);
        debuggee.watching.end();
        debuggee.process = process;
        Ok(())
    }

    /// Forgets that threads of a process are held, and drops their events.
    pub(super) fn nobody_is_held(&mut self, pid: Pid) {
        self.held.retain(|_, held| held.pid != pid);
        let threads = self.debuggees.get(&pid).map(|debuggee| debuggee.process.threads.clone()).unwrap_or_default();
        self.said.retain(|tid, _| !threads.contains(tid));
        self.given.retain(|tid, _| !threads.contains(tid));
        self.calls.retain(|tid, _| !threads.contains(tid));
        self.inside.retain(|tid| !threads.contains(tid));
        self.from_signal.retain(|tid, _| !threads.contains(tid));
        self.passing.retain(|_, (other, _)| *other != pid);
        self.goals.retain(|_, (Goal::Step(other) | Goal::Site(other, _))| *other != pid);
        self.free.remove(&pid.leader());
        self.newcomers.remove(&pid.leader());
        self.events.retain(|event| event.pid != pid || !event.is_held());
    }

    /// Notes a held thread without reporting an event.
    pub(super) fn hold_silently(&mut self, pid: Pid, tid: Tid) {
        self.held.insert(tid, Held::new(pid, VecDeque::new()));
    }
}
