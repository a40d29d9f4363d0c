//! The back end over the kernel module's channel (docs/ntrace.4): the kernel sets breakpoints, lets threads pass them, counts hits and
//! holds threads.
//!
//! All breakpoints of a session at an address share one site of the channel. If they only count or record, the kernel holds no thread.
//! Otherwise it holds each thread that hits the site, and this code decides which events to report.

mod aggregations;
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
mod follow;
mod hidden;
mod hit;
mod lifecycle;
mod loading;
mod memory;
mod record;
mod recorder;
mod reports;
mod rule;
mod ruled;
mod said;
mod site;
mod step;
mod sums;
mod wake;
mod watch;
mod watching;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use wire::{Failure, Status};

use self::channel::Channel;
use self::recorder::Recorder;
use self::said::{Call, Said};
use self::site::{Goal, Own, Site};
use self::sums::Aggregations;
use self::watching::Watching;
use crate::arch::Mode;
use crate::loader::Loader;
use crate::{
    Error, Event, EventKind, FollowId, Mechanism, Options, Pid, Process, Result, Signal, SignalInfo, Stdio, Syscalls,
    Tid,
};

/// A process of the session.
#[derive(Debug)]
struct Debuggee {
    process: Process,
    /// The process's number in the channel.
    number: u64,
    mode: Mode,
    sites: BTreeMap<u64, Site>,
    /// Indexed by id.
    breakpoints: Vec<Option<Own>>,
    loader: Loader,
    /// The system calls that are reported.
    syscalls: Syscalls,
    watching: Watching,
    stdio: Stdio,
    /// Whether the process is a child of the tracer, which must wait for its end.
    child: bool,
}

/// A held thread.
#[derive(Debug)]
struct Held {
    pid: Pid,
    /// Events to report before the thread is resumed.
    pending: VecDeque<EventKind>,
    /// The site at which the thread is held.
    site: Option<u64>,
    /// The thread ran other code since it was held at the site, so that the kernel no longer knows that it is at a breakpoint.
    came_back: bool,
    /// The arrival at the site was not counted yet.
    uncounted: bool,
    /// The signal at which the thread is held, and its pc.
    signal: Option<(SignalInfo, u64)>,
    /// The thread makes a system call when it is resumed.
    is_about_to_call: bool,
}

impl Held {
    /// A thread held in process `pid`, with events to report.
    fn new(pid: Pid, pending: VecDeque<EventKind>) -> Held {
        let (site, came_back, uncounted, signal) = (None, false, false, None);
        Held { pid, pending, site, came_back, uncounted, signal, is_about_to_call: false }
    }
}

#[derive(Debug)]
pub(crate) struct Kernel {
    options: Options,
    channel: Channel,
    debuggees: BTreeMap<Pid, Debuggee>,
    held: HashMap<Tid, Held>,
    /// Threads that are to pass a site at which they were reported, unknown to the kernel: the next hit there is not a new one.
    passing: HashMap<Tid, (Pid, u64)>,
    /// Where the user lets threads run.
    goals: HashMap<Tid, Goal>,
    /// Threads that are reported as held but run, and how often: parents of new processes.
    free: HashMap<Tid, u32>,
    /// What the kernel has told of threads that it is about to hold.
    said: HashMap<Tid, Said>,
    /// The system calls that threads are in.
    calls: HashMap<Tid, Call>,
    /// Threads that may be in a system call of whose beginning the kernel did not tell.
    inside: HashSet<Tid>,
    /// Signals that the user has given to threads, of which the kernel has not told yet.
    given: HashMap<Tid, Signal>,
    /// Threads that step from a signal, and their pc before.
    from_signal: HashMap<Tid, u64>,
    /// First threads of processes that have not begun to run, and their parents.
    born: HashMap<Tid, Pid>,
    /// What the session follows.
    follows: BTreeSet<FollowId>,
    /// First threads of followed processes that have not begun to run.
    newcomers: HashMap<Tid, FollowId>,
    events: VecDeque<Event>,
    aggregations: Aggregations,
    recorder: Recorder,
    /// Processes that ended, until the call after the one that returned the event of their end.
    ended: BTreeMap<Pid, Debuggee>,
    /// The process whose end was reported last.
    told: Option<Pid>,
}

impl Kernel {
    /// Opens a channel.
    pub(crate) fn new(options: Options) -> Result<Kernel> {
        if options.group_stops || options.vforks {
            return Err(cannot("report group-stops and ends of vforks"));
        }
        let kernel = Kernel {
            options,
            channel: Channel::open()?,
            debuggees: BTreeMap::new(),
            held: HashMap::new(),
            passing: HashMap::new(),
            goals: HashMap::new(),
            free: HashMap::new(),
            said: HashMap::new(),
            calls: HashMap::new(),
            inside: HashSet::new(),
            given: HashMap::new(),
            from_signal: HashMap::new(),
            born: HashMap::new(),
            follows: BTreeSet::new(),
            newcomers: HashMap::new(),
            events: VecDeque::new(),
            aggregations: Aggregations::default(),
            recorder: Recorder::default(),
            ended: BTreeMap::new(),
            told: None,
        };
        kernel.can_report()?;
        Ok(kernel)
    }

    fn debuggee(&self, pid: Pid) -> Result<&Debuggee> {
        self.debuggees.get(&pid).ok_or(Error::NoSuchProcess(pid))
    }

    fn debuggee_mut(&mut self, pid: Pid) -> Result<&mut Debuggee> {
        self.debuggees.get_mut(&pid).ok_or(Error::NoSuchProcess(pid))
    }

    /// The process with this number in the channel.
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
        // Closing the file would detach too, but would kill processes with the option `KILL`.
        let pids: Vec<Pid> = self.debuggees.keys().copied().collect();
        for pid in pids {
            // A process that cannot be detached has ended.
            let _ = self.detach(pid);
        }
    }
}

/// The error for an operation that only another mechanism supports.
fn cannot(what: &'static str) -> Error {
    Error::Unsupported { mechanism: Mechanism::Kernel, what }
}

/// The error for a failed command on a process.
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
