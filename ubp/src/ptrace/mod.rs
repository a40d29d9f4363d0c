//! The back end over ptrace(2).

mod access;
mod answer;
#[cfg(target_arch = "aarch64")]
#[path = "arm64/mod.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86/mod.rs"]
mod arch;
mod attach;
mod backend;
mod blocked;
mod borrowed;
mod breakpoints;
mod call;
mod children;
mod detach;
mod exec;
mod gate;
mod hit;
mod inject;
mod leaving;
mod loader;
mod mirror;
mod notify;
mod place;
mod requeue;
mod resume;
mod sharers;
mod signal;
mod slot;
mod space;
mod spawn;
mod status;
mod stop;
mod sys;
mod take_over;
mod thread;
mod wait;
mod way_back;

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::os::fd::BorrowedFd;

#[cfg(target_arch = "aarch64")]
pub(crate) use self::arch::landing_pads;
pub(crate) use self::borrowed::Borrowed;
use self::leaving::Leaving;
use self::notify::Notify;
use self::space::Space;
pub(crate) use self::spawn::{end, release, start};
use self::sys::Report;
use self::thread::Thread;
use crate::loader::Loader;
use crate::{Breakpoint, Error, Event, EventKind, Options, Pid, Process, Result, Stdio, Tid};

thread_local! {
    static HAS_SESSION: Cell<bool> = const { Cell::new(false) };
}

/// The number of an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SpaceId(u64);

/// Whose action for `SIGTRAP` a process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrapAction {
    /// Nobody has looked.
    Unknown,
    /// The handler in [`Space::answer`].
    Ours,
    /// The kernel forgot that handler.
    Forgotten,
    /// The program's, if only the default.
    Programs,
}

/// A process and what the tracer alone needs of it.
#[derive(Debug)]
struct Debuggee {
    process: Process,
    space: SpaceId,
    loader: Loader,
    stdio: Stdio,
    /// The kernel kills it when the tracer is gone.
    kill: bool,
    /// Whose action for `SIGTRAP` it has.
    trap: TrapAction,
    /// The user does not know of it, but it shares the memory of one that he knows: traced in silence until it executes a program or
    /// ends, or nobody is left that he knows.
    silent: bool,
}

impl Debuggee {
    fn new(process: Process, space: SpaceId, stdio: Stdio, kill: bool) -> Debuggee {
        let loader = Loader::default();
        Debuggee { process, space, loader, stdio, kill, trap: TrapAction::Unknown, silent: false }
    }
}

#[derive(Debug)]
pub(crate) struct Tracer {
    options: Options,
    notify: Notify,
    debuggees: BTreeMap<Pid, Debuggee>,
    threads: HashMap<Tid, Thread>,
    leaving: HashMap<Tid, Leaving>,
    spaces: HashMap<SpaceId, Space>,
    next_space: u64,
    events: VecDeque<Event>,
    /// Reports taken from the kernel and not looked at.
    reports: VecDeque<(Tid, Report)>,
    /// Reports of threads of which no parent has told yet.
    early: HashMap<Tid, Report>,
    /// Breakpoints of processes that ended, until the event that says so was seen.
    ended: HashMap<Pid, Vec<Option<Breakpoint>>>,
    /// The process whose end was told last.
    told: Option<Pid>,
}

impl Tracer {
    pub(crate) fn new(options: Options) -> Result<Tracer> {
        let notify = Notify::new()?;
        if HAS_SESSION.replace(true) {
            return Err(Error::SecondSession);
        }
        Ok(Tracer {
            options,
            notify,
            debuggees: BTreeMap::new(),
            threads: HashMap::new(),
            leaving: HashMap::new(),
            spaces: HashMap::new(),
            next_space: 0,
            events: VecDeque::new(),
            reports: VecDeque::new(),
            early: HashMap::new(),
            ended: HashMap::new(),
            told: None,
        })
    }

    fn take_stdio(&mut self, pid: Pid) -> Stdio {
        self.debuggees.get_mut(&pid).map(|debuggee| std::mem::take(&mut debuggee.stdio)).unwrap_or_default()
    }

    fn process(&self, pid: Pid) -> Option<&Process> {
        self.debuggees.get(&pid).filter(|debuggee| !debuggee.silent).map(|debuggee| &debuggee.process)
    }

    fn processes(&self) -> impl Iterator<Item = &Process> {
        self.debuggees.values().filter(|debuggee| !debuggee.silent).map(|debuggee| &debuggee.process)
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notify.as_fd()
    }

    fn debuggee(&self, pid: Pid) -> Result<&Debuggee> {
        self.debuggees.get(&pid).ok_or(Error::NoSuchProcess(pid))
    }

    fn debuggee_mut(&mut self, pid: Pid) -> Result<&mut Debuggee> {
        self.debuggees.get_mut(&pid).ok_or(Error::NoSuchProcess(pid))
    }

    fn thread(&self, tid: Tid) -> Result<&Thread> {
        self.threads.get(&tid).ok_or(Error::NoSuchThread(tid))
    }

    fn thread_mut(&mut self, tid: Tid) -> Result<&mut Thread> {
        self.threads.get_mut(&tid).ok_or(Error::NoSuchThread(tid))
    }

    fn space_of(&self, pid: Pid) -> Result<&Space> {
        let id = self.debuggee(pid)?.space;
        self.spaces.get(&id).ok_or(Error::NoSuchProcess(pid))
    }

    fn space_of_mut(&mut self, pid: Pid) -> Result<&mut Space> {
        let id = self.debuggee(pid)?.space;
        self.spaces.get_mut(&id).ok_or(Error::NoSuchProcess(pid))
    }

    fn add_space(&mut self, space: Space) -> SpaceId {
        self.next_space += 1;
        let id = SpaceId(self.next_space);
        self.spaces.insert(id, space);
        id
    }

    fn leave_space(&mut self, id: SpaceId) {
        if let Some(space) = self.spaces.get_mut(&id) {
            space.users = space.users.saturating_sub(1);
            if space.users == 0 {
                self.spaces.remove(&id);
            }
        }
    }

    /// What the kernel is asked to report of a process' threads (`PTRACE_O_…`).
    fn wishes(&self, pid: Pid) -> libc::c_int {
        let kill = self.debuggees.get(&pid).is_some_and(|debuggee| debuggee.kill);
        attach::OPTIONS | if kill { attach::EXIT_KILL } else { 0 }
    }

    fn threads_of(&self, pid: Pid) -> Vec<Tid> {
        self.debuggees.get(&pid).map(|debuggee| debuggee.process.threads.iter().copied().collect()).unwrap_or_default()
    }

    fn add_thread(&mut self, thread: Thread) {
        if let Some(debuggee) = self.debuggees.get_mut(&thread.pid) {
            debuggee.process.threads.insert(thread.tid);
        }
        self.threads.insert(thread.tid, thread);
    }

    /// Forgets a process and its threads.
    fn forget(&mut self, pid: Pid) {
        if let Some(debuggee) = self.debuggees.remove(&pid) {
            for tid in &debuggee.process.threads {
                self.threads.remove(tid);
            }
            self.leave_space(debuggee.space);
        }
    }

    fn emit(&mut self, pid: Pid, tid: Tid, kind: EventKind) {
        self.events.push_back(Event { pid, tid, time: sys::monotonic(), kind });
    }

    /// Reports an event of a stopped thread, which then waits for the user.
    fn hold(&mut self, tid: Tid, kind: EventKind) -> Result<()> {
        let thread = self.thread_mut(tid)?;
        thread.held = true;
        let pid = thread.pid;
        self.emit(pid, tid, kind);
        Ok(())
    }
}

/// Whether it only says that a thread or process ended meanwhile, which its parent will be told by wait.
fn is_gone(error: &Error) -> bool {
    matches!(error, Error::NoSuchThread(_) | Error::NoSuchProcess(_))
}

impl Tracer {
    fn detach_all(&mut self) {
        // Others may be made while one is let go.
        while let Some(&pid) = self.debuggees.keys().next() {
            // What cannot be detached any more is gone.
            if self.detach(pid).is_err() {
                self.forget(pid);
            }
        }
    }

    /// Lets all processes go; the calling thread ends now.
    fn leave(&mut self) {
        self.detach_all();
        let _ = self.await_leaving_slots();
        self.leaving.clear();
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.detach_all();
        // What they wait for comes to an end, and without a tracer that listens they would stop then for ever.
        let _ = self.await_leaving();
        HAS_SESSION.set(false);
    }
}
