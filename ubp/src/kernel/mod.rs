//! The back end over the kernel module's channel (docs/ntrace.4): the kernel keeps and passes the breakpoints, counts their hits, and
//! holds threads.
//!
//! One site of the channel serves all breakpoints of ours at an address. Where they only count, nobody is held; else each thread
//! that comes by is, and what it is told of is decided here.

#[cfg(target_arch = "aarch64")]
#[path = "arm64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86.rs"]
mod arch;
mod backend;
mod breakpoints;
mod call;
mod channel;
mod code;
mod events;
mod filter;
mod hidden;
mod hit;
mod lifecycle;
mod loading;
mod memory;
mod site;
mod wake;

use std::collections::{BTreeMap, HashMap, VecDeque};

use wire::{Failure, Status};

use self::channel::Channel;
use self::site::{Own, Site};
use crate::arch::Mode;
use crate::loader::Loader;
use crate::{Error, Event, EventKind, Mechanism, Options, Pid, Process, Result, Stdio, Tid};

/// A process of the session.
#[derive(Debug)]
struct Debuggee {
    process: Process,
    /// What the channel calls it.
    number: u64,
    mode: Mode,
    sites: BTreeMap<u64, Site>,
    /// By id.
    breakpoints: Vec<Option<Own>>,
    loader: Loader,
    stdio: Stdio,
    /// Our own child, for whose end somebody has to wait.
    child: bool,
}

/// A held thread.
#[derive(Debug)]
struct Held {
    pid: Pid,
    /// What else it is to be told of before it runs.
    pending: VecDeque<EventKind>,
    /// The breakpoint that it is held at.
    site: Option<u64>,
    /// It ran something else meanwhile, so that the kernel does not know of its being at a breakpoint.
    came_back: bool,
}

impl Held {
    /// A thread of which so much is to be told.
    fn new(pid: Pid, pending: VecDeque<EventKind>) -> Held {
        Held { pid, pending, site: None, came_back: false }
    }
}

#[derive(Debug)]
pub(crate) struct Kernel {
    options: Options,
    channel: Channel,
    debuggees: BTreeMap<Pid, Debuggee>,
    held: HashMap<Tid, Held>,
    /// Threads that go on from a breakpoint which has told of them, and of which the kernel does not know that.
    passing: HashMap<Tid, (Pid, u64)>,
    /// Threads that are told of as held and run: those of processes that made another.
    free: HashMap<Tid, u32>,
    /// The first threads of processes that have not begun, and the processes that made them.
    born: HashMap<Tid, Pid>,
    events: VecDeque<Event>,
    /// Processes that ended, until the event that says so was seen.
    ended: BTreeMap<Pid, Debuggee>,
    /// The process whose end was told last.
    told: Option<Pid>,
}

impl Kernel {
    /// Opens a channel.
    pub(crate) fn new(options: Options) -> Result<Kernel> {
        if options.signals {
            return Err(cannot("tell of signals"));
        }
        Ok(Kernel {
            options,
            channel: Channel::open()?,
            debuggees: BTreeMap::new(),
            held: HashMap::new(),
            passing: HashMap::new(),
            free: HashMap::new(),
            born: HashMap::new(),
            events: VecDeque::new(),
            ended: BTreeMap::new(),
            told: None,
        })
    }

    fn debuggee(&self, pid: Pid) -> Result<&Debuggee> {
        self.debuggees.get(&pid).ok_or(Error::NoSuchProcess(pid))
    }

    fn debuggee_mut(&mut self, pid: Pid) -> Result<&mut Debuggee> {
        self.debuggees.get_mut(&pid).ok_or(Error::NoSuchProcess(pid))
    }

    /// The process that the channel calls so.
    fn named(&self, number: u64) -> Option<Pid> {
        self.debuggees.iter().find(|(_, debuggee)| debuggee.number == number).map(|(pid, _)| *pid)
    }

    /// The process of a held thread.
    fn pid_of_held(&self, tid: Tid) -> Result<Pid> {
        match self.held.get(&tid) {
            Some(held) => Ok(held.pid),
            None if self.debuggees.values().any(|debuggee| debuggee.process.threads.contains(&tid)) => {
                Err(Error::NotHeld(tid))
            }
            None => Err(Error::NoSuchThread(tid)),
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // Closing the file would do it, and kill those that are to end with the session.
        let pids: Vec<Pid> = self.debuggees.keys().copied().collect();
        for pid in pids {
            // What cannot be detached any more is gone.
            let _ = self.detach(pid);
        }
    }
}

/// What only another mechanism can do.
fn cannot(what: &'static str) -> Error {
    Error::Unsupported { mechanism: Mechanism::Kernel, what }
}

/// Why the module did not do what concerned a process.
fn failed(pid: Pid, command: &'static str, failure: Failure) -> Error {
    match failure.status {
        Status::NoProcess => Error::NoSuchProcess(pid),
        Status::Denied => Error::Permission(pid),
        Status::NoThread => Error::NoSuchThread(Tid(failure.detail as i32)),
        Status::NotHeld => Error::NotHeld(Tid(failure.detail as i32)),
        Status::Memory => Error::Memory { pid, address: failure.detail.into() },
        _ => Error::Module { pid, command, failure },
    }
}
