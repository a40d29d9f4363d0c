//! The processes that the tracer traces, their threads and their address spaces.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Index, IndexMut};

use libc::c_int;

use super::recorder::Recorded;
use super::space::Space;
use super::space::page::Handled;
use super::status::Status;
use super::sums::Sums;
use super::sys;
use super::thread::{State, Stop, Thread};
use crate::loader::Loader;
use crate::{AggregationId, Error, Options, Pid, Process, Result, Stdio, Syscalls, Tid};

/// The number of an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SpaceId(u64);

/// Who set the action of a process for a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The tracer has not looked yet.
    Unknown,
    /// The tracer: a handler in [`Space::trap_handler`].
    Ours,
    /// The tracer, but the kernel reset the action since.
    Reset,
    /// The program, if only by the default action.
    Programs,
}

/// Who set the actions of a process for the signals that the handlers of the tracer handle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actions {
    trap: Action,
    undefined: Action,
    segment: Action,
    bus: Action,
}

impl Actions {
    /// The tracer looks at `SIGTRAP` at the first breakpoint. It takes the others where jumps need them.
    pub(super) const NEW: Actions = Actions {
        trap: Action::Unknown,
        undefined: Action::Programs,
        segment: Action::Programs,
        bus: Action::Programs,
    };

    /// Whether a handler is missing.
    pub(super) fn is_any_lacking(&self) -> bool {
        Handled::ALL.into_iter().any(|signal| self.lacks(signal))
    }

    /// Whether the handler of a signal is missing.
    pub(super) fn lacks(&self, signal: Handled) -> bool {
        matches!(self[signal], Action::Unknown | Action::Reset)
    }
}

impl Index<Handled> for Actions {
    type Output = Action;

    fn index(&self, signal: Handled) -> &Action {
        match signal {
            Handled::Trap => &self.trap,
            Handled::Undefined => &self.undefined,
            Handled::Segment => &self.segment,
            Handled::Bus => &self.bus,
        }
    }
}

impl IndexMut<Handled> for Actions {
    fn index_mut(&mut self, signal: Handled) -> &mut Action {
        match signal {
            Handled::Trap => &mut self.trap,
            Handled::Undefined => &mut self.undefined,
            Handled::Segment => &mut self.segment,
            Handled::Bus => &mut self.bus,
        }
    }
}

/// A process, and what the tracer alone keeps about it.
#[derive(Debug)]
pub(super) struct Debuggee {
    pub(super) process: Process,
    pub(super) space: SpaceId,
    pub(super) loader: Loader,
    pub(super) stdio: Stdio,
    /// The kernel kills the process when the tracer ends.
    pub(super) exit_kill: bool,
    pub(super) actions: Actions,
    /// The system calls that the user wants to know about.
    pub(super) syscalls: Syscalls,
    /// The user does not know the process. It shares the memory of a process that the user knows, and the tracer traces it
    /// without events until it executes a program or ends, or until no process that the user knows is left in the memory.
    pub(super) silent: bool,
}

impl Debuggee {
    pub(super) fn new(process: Process, space: SpaceId, stdio: Stdio, exit_kill: bool) -> Debuggee {
        let loader = Loader::default();
        let (actions, syscalls) = (Actions::NEW, Syscalls::NONE);
        Debuggee { process, space, loader, stdio, exit_kill, actions, syscalls, silent: false }
    }
}

/// All processes, threads and address spaces.
#[derive(Debug)]
pub(super) struct Tracees {
    pub(super) options: Options,
    pub(super) debuggees: BTreeMap<Pid, Debuggee>,
    pub(super) threads: HashMap<Tid, Thread>,
    pub(super) spaces: HashMap<SpaceId, Space>,
    /// The session has set a watchpoint, in whichever process.
    pub(super) watching: bool,
    /// Jumps into which threads branch too often: the tracer makes them breakpoint instructions when it can stop all threads.
    pub(super) unwanted_jumps: Vec<(SpaceId, u64)>,
    /// Recorded hits of address spaces that are gone, or about to go.
    pub(super) recorded: Vec<Recorded>,
    /// Number of hits of all processes that were lost.
    pub(super) lost: u64,
    /// The aggregations of the session.
    pub(super) sums: Sums,
    last_space: u64,
}

impl Tracees {
    pub(super) fn new(options: Options) -> Tracees {
        let (debuggees, threads, spaces) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        Tracees {
            options,
            debuggees,
            threads,
            spaces,
            watching: false,
            unwanted_jumps: Vec::new(),
            recorded: Vec::new(),
            lost: 0,
            sums: Sums::default(),
            last_space: 0,
        }
    }

    pub(super) fn debuggee(&self, pid: Pid) -> Result<&Debuggee> {
        self.debuggees.get(&pid).ok_or(Error::NoSuchProcess(pid))
    }

    pub(super) fn debuggee_mut(&mut self, pid: Pid) -> Result<&mut Debuggee> {
        self.debuggees.get_mut(&pid).ok_or(Error::NoSuchProcess(pid))
    }

    /// The processes that the user knows.
    pub(super) fn shown_processes(&self) -> impl Iterator<Item = &Process> {
        self.debuggees.values().filter(|debuggee| !debuggee.silent).map(|debuggee| &debuggee.process)
    }

    /// A process that the user knows.
    pub(super) fn shown_process(&self, pid: Pid) -> Result<&Process> {
        let debuggee = self.debuggees.get(&pid).filter(|debuggee| !debuggee.silent);
        debuggee.map(|debuggee| &debuggee.process).ok_or(Error::NoSuchProcess(pid))
    }

    pub(super) fn thread(&self, tid: Tid) -> Result<&Thread> {
        self.threads.get(&tid).ok_or(Error::NoSuchThread(tid))
    }

    pub(super) fn thread_mut(&mut self, tid: Tid) -> Result<&mut Thread> {
        self.threads.get_mut(&tid).ok_or(Error::NoSuchThread(tid))
    }

    pub(super) fn set_stop(&mut self, tid: Tid, stop: Stop) -> Result<()> {
        self.thread_mut(tid)?.state = State::Stopped(stop);
        Ok(())
    }

    /// The threads of a process.
    pub(super) fn threads_of(&self, pid: Pid) -> Vec<Tid> {
        self.debuggees.get(&pid).map(|debuggee| debuggee.process.threads.iter().copied().collect()).unwrap_or_default()
    }

    pub(super) fn add_thread(&mut self, mut thread: Thread) {
        if let Some(debuggee) = self.debuggees.get_mut(&thread.pid) {
            thread.calls.traced = !debuggee.syscalls.is_empty();
            debuggee.process.threads.insert(thread.tid);
        }
        self.threads.insert(thread.tid, thread);
    }

    pub(super) fn remove_thread(&mut self, tid: Tid) -> Option<Thread> {
        let thread = self.threads.remove(&tid)?;
        if let Some(debuggee) = self.debuggees.get_mut(&thread.pid) {
            debuggee.process.threads.remove(&tid);
        }
        Some(thread)
    }

    /// Forgets a process and its threads.
    pub(super) fn remove_process(&mut self, pid: Pid) {
        if let Some(debuggee) = self.debuggees.remove(&pid) {
            for tid in &debuggee.process.threads {
                self.threads.remove(tid);
            }
            self.drop_space(debuggee.space);
        }
    }

    /// Forgets a thread that the kernel does not know any more, and whose end the kernel does not report: it vanished when
    /// another thread of its process executed a program.
    pub(super) fn remove_vanished(&mut self, tid: Tid) {
        if Status::read(tid).is_ok_and(|status| status.tracer == sys::own_tid()) {
            return;
        }
        match self.threads.get(&tid).map(|thread| thread.pid) {
            Some(pid) if tid == pid.leader() => self.remove_process(pid),
            _ => drop(self.remove_thread(tid)),
        }
    }

    pub(super) fn is_silent(&self, tid: Tid) -> bool {
        let debuggee = self.threads.get(&tid).and_then(|thread| self.debuggees.get(&thread.pid));
        debuggee.is_some_and(|debuggee| debuggee.silent)
    }

    /// Whether a signal that stops this thread must not be lost with the tracer: the process outlives the tracer.
    pub(super) fn outlives_tracer(&self, tid: Tid) -> bool {
        let debuggee = self.threads.get(&tid).and_then(|thread| self.debuggees.get(&thread.pid));
        debuggee.is_some_and(|debuggee| !debuggee.exit_kill)
    }

    /// The options of ptrace(2) for the threads of a process (`PTRACE_O_…`).
    pub(super) fn ptrace_options(&self, pid: Pid) -> c_int {
        let exit_kill = self.debuggees.get(&pid).is_some_and(|debuggee| debuggee.exit_kill);
        sys::OPTIONS | if exit_kill { libc::PTRACE_O_EXITKILL } else { 0 }
    }

    pub(super) fn space_of(&self, pid: Pid) -> Result<&Space> {
        let id = self.debuggee(pid)?.space;
        self.spaces.get(&id).ok_or(Error::NoSuchProcess(pid))
    }

    pub(super) fn space_of_mut(&mut self, pid: Pid) -> Result<&mut Space> {
        let id = self.debuggee(pid)?.space;
        self.spaces.get_mut(&id).ok_or(Error::NoSuchProcess(pid))
    }

    /// The address space that a thread runs in.
    pub(super) fn space_at(&self, tid: Tid) -> Result<&Space> {
        self.space_of(self.thread(tid)?.pid)
    }

    pub(super) fn add_space(&mut self, space: Space) -> SpaceId {
        self.last_space += 1;
        let id = SpaceId(self.last_space);
        self.spaces.insert(id, space);
        id
    }

    /// Counts one more user of an address space.
    pub(super) fn share_space(&mut self, id: SpaceId) {
        if let Some(space) = self.spaces.get_mut(&id) {
            space.users += 1;
        }
    }

    /// Takes the recorded hits of all address spaces.
    pub(super) fn take_recorded(&mut self) -> Vec<Recorded> {
        for space in self.spaces.values_mut() {
            space.read_rings();
            self.recorded.append(&mut space.recorded.hits);
            self.lost += std::mem::take(&mut space.recorded.lost);
        }
        std::mem::take(&mut self.recorded)
    }

    /// The address spaces in which trampolines have added hits to an aggregation.
    pub(super) fn summing(&self, id: AggregationId) -> Vec<SpaceId> {
        self.spaces.iter().filter(|(_, space)| space.has_sums(id)).map(|(id, _)| *id).collect()
    }

    /// Adds what trampolines have summed up, also those that are gone, to the aggregations.
    pub(super) fn collect_sums(&mut self) {
        let Tracees { spaces, sums, .. } = self;
        for space in spaces.values_mut() {
            space.summed.drain(..).for_each(|summed| sums.add_all(space.owner, &summed));
        }
    }

    /// Counts one user of an address space less; the last one takes it along.
    pub(super) fn drop_space(&mut self, id: SpaceId) {
        if let Some(space) = self.spaces.get_mut(&id) {
            space.users = space.users.saturating_sub(1);
            if space.users == 0 {
                space.take_sums();
                space.summed.drain(..).for_each(|summed| self.sums.add_all(space.owner, &summed));
                space.read_rings_at_end();
            } else {
                space.read_rings();
            }
            self.recorded.append(&mut space.recorded.hits);
            self.lost += std::mem::take(&mut space.recorded.lost);
            if space.users == 0 {
                self.spaces.remove(&id);
            }
        }
    }

    /// The number of processes in an address space that the user knows.
    pub(super) fn owners(&self, space: SpaceId) -> usize {
        self.debuggees.values().filter(|debuggee| debuggee.space == space && !debuggee.silent).count()
    }

    /// The processes that run in an address space.
    pub(super) fn processes_in(&self, space: SpaceId) -> Vec<Pid> {
        self.debuggees.iter().filter(|(_, debuggee)| debuggee.space == space).map(|(pid, _)| *pid).collect()
    }

    /// The threads that run in an address space.
    pub(super) fn threads_in(&self, space: SpaceId) -> Vec<Tid> {
        let inside = |thread: &&Thread| self.debuggees.get(&thread.pid).is_some_and(|d| d.space == space);
        self.threads.values().filter(inside).map(|thread| thread.tid).collect()
    }

    /// The stopped threads that run in an address space: first those that no signal is about to be delivered to.
    pub(super) fn stopped_threads(&self, space: SpaceId) -> Vec<Tid> {
        let stop = |tid: &Tid| self.threads.get(tid).and_then(Thread::stop);
        let mut threads = self.threads_in(space);
        threads.retain(|tid| stop(tid).is_some());
        threads.sort_by_key(|tid| match stop(tid) {
            Some(Stop::Event | Stop::Trap | Stop::Syscall) => 0,
            Some(Stop::Group | Stop::InSyscall) => 1,
            _ => 2,
        });
        threads
    }

    /// The epoch up to which every thread in the address space of a process was seen outside of slots.
    pub(super) fn least_seen(&self, pid: Pid) -> Result<u64> {
        let threads = self.threads_in(self.debuggee(pid)?.space);
        Ok(threads.iter().filter_map(|tid| Some(self.threads.get(tid)?.seen)).min().unwrap_or(0))
    }

    /// Notes in the processes of an address space where the tracer's storage lies.
    pub(super) fn hide_storage(&mut self, pid: Pid) -> Result<()> {
        let hidden = self.space_of(pid)?.hidden();
        let id = self.debuggee(pid)?.space;
        for debuggee in self.debuggees.values_mut().filter(|debuggee| debuggee.space == id) {
            debuggee.process.hidden.clone_from(&hidden);
        }
        Ok(())
    }
}
