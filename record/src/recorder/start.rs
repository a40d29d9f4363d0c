//! Starting programs, and seizing running ones.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use super::error::RecordError;
use super::part::Stage;
use super::process::{self, Process};
use super::sys::{self, Report};
use super::thread::{State, Thread};
use super::{Options, Recorder, Threads};

/// The pause between two looks at a child that is about to execute its program.
const PAUSE: Duration = Duration::from_micros(100);

/// The ptrace options of every thread. Threads and processes that it makes inherit them.
fn wanted(options: &Options) -> libc::c_int {
    let mut wanted = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEEXEC;
    if options.threads == Threads::All {
        wanted |= libc::PTRACE_O_TRACECLONE;
    }
    if options.follow_forks {
        wanted |= libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK;
    }
    wanted
}

impl<W: Write> Recorder<W> {
    /// Starts a program, which stops at its first instruction. The kernel kills it when the recorder is killed.
    pub(super) fn start(&mut self, command: Command) -> Result<(), RecordError> {
        // The child sends its number and waits to be seized before it executes the program. Meanwhile the standard library
        // waits for it in a thread of its own.
        let (mut from_child, to_parent) = sys::pipe().map_err(RecordError::Spawn)?;
        let (from_parent, mut to_child) = sys::pipe().map_err(RecordError::Spawn)?;
        let others = to_child.as_raw_fd();
        let starting = thread::spawn(move || start(command, from_parent, to_parent, others));
        let mut number = [0; 4];
        let told = from_child.read_exact(&mut number);
        let tid = u32::from_ne_bytes(number);
        let options = wanted(&self.options) | libc::PTRACE_O_EXITKILL;
        let seized = told.map_err(RecordError::Spawn).and_then(|()| {
            sys::seize(tid, options).map_err(|error| refused(tid, error))?;
            to_child.write_all(&[1]).and_then(|()| wait_for_exec(tid)).map_err(RecordError::Spawn)
        });
        drop(to_child);
        let child = starting.join().unwrap_or_else(|_| Err(io::Error::other("the starting thread failed")));
        match (child, seized) {
            (Ok(_), Ok(())) => {}
            (Ok(mut child), Err(error)) => {
                // The child could not be seized, and must not run.
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
            // The pipe was closed, so the child gave up.
            (Err(_), Err(error @ (RecordError::Permission(_) | RecordError::AlreadyTraced { .. }))) => {
                return Err(error);
            }
            (Err(error), _) => return Err(RecordError::Spawn(error)),
        }
        self.first = tid;
        self.adopt(tid, tid, 0)?;
        // The thread first leaves the execve call.
        self.thread(tid)?.state = State::InExec;
        self.go_on(tid)
    }

    /// Seizes the chosen threads of a running process.
    pub(super) fn seize(&mut self, pid: u32) -> Result<(), RecordError> {
        let (process, tracer) = process::status(pid).ok_or(RecordError::NoSuchProcess(pid))?;
        if process != pid {
            return Err(RecordError::NoSuchProcess(pid));
        }
        if tracer != 0 {
            return Err(RecordError::AlreadyTraced { pid, tracer });
        }
        self.first = pid;
        let mut seized = BTreeSet::new();
        loop {
            let before = seized.len();
            let tids = match &self.options.threads {
                Threads::All => process::threads(pid),
                Threads::Main => vec![pid],
                Threads::These(tids) => tids.clone(),
            };
            for tid in tids {
                if seized.contains(&tid) || process::status(tid).is_none_or(|(process, _)| process != pid) {
                    continue;
                }
                self.seize_one(pid, tid)?;
                seized.insert(tid);
            }
            // Threads that are not traced yet may make new ones meanwhile.
            if seized.len() == before {
                break;
            }
        }
        if let Threads::These(tids) = &self.options.threads {
            if let Some(missing) = tids.iter().find(|tid| !seized.contains(tid)) {
                return Err(RecordError::NoSuchProcess(*missing));
            }
        }
        if seized.is_empty() { Err(RecordError::NoSuchProcess(pid)) } else { Ok(()) }
    }

    fn seize_one(&mut self, pid: u32, tid: u32) -> Result<(), RecordError> {
        match sys::seize(tid, wanted(&self.options)) {
            Ok(()) => {
                // The first stop shows the thread's registers.
                sys::interrupt(tid).map_err(|source| RecordError::System { call: "PTRACE_INTERRUPT", tid, source })?;
                self.adopt(tid, pid, 0)
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            Err(_) => match process::status(tid) {
                // A traced thread made this one, which will stop and report.
                Some((_, tracer)) if tracer == sys::own_tid() => Ok(()),
                Some((_, 0)) => Err(RecordError::Permission(pid)),
                Some((_, tracer)) => Err(RecordError::AlreadyTraced { pid, tracer }),
                None => Ok(()),
            },
        }
    }

    /// Takes a thread into the recording.
    pub(super) fn adopt(&mut self, tid: u32, pid: u32, by: u32) -> Result<(), RecordError> {
        if let Entry::Vacant(place) = self.processes.entry(pid) {
            let opened = Process::open(pid);
            place.insert(opened.map_err(|source| RecordError::System { call: "opening the memory", tid, source })?);
        }
        self.threads.insert(tid, Thread::new(pid));
        if self.stage == Stage::Within { self.take_in(tid, by) } else { Ok(()) }
    }
}

/// Why a child may not be traced.
fn refused(tid: u32, error: io::Error) -> RecordError {
    match process::status(tid) {
        Some((_, tracer)) if tracer != 0 => RecordError::AlreadyTraced { pid: tid, tracer },
        Some(_) if error.raw_os_error() == Some(libc::EPERM) => RecordError::Permission(tid),
        _ => RecordError::Spawn(error),
    }
}

/// Waits until the child has executed its program.
fn wait_for_exec(tid: u32) -> io::Result<()> {
    loop {
        if !sys::has_stopped(tid)? {
            // If there is no such program, the standard library takes the report of the child's end.
            if process::status(tid).is_none_or(|(_, tracer)| tracer == 0) {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            thread::sleep(PAUSE);
            continue;
        }
        match sys::wait(sys::Whom::One(tid), true)? {
            Some((_, Report::Stopped { event: libc::PTRACE_EVENT_EXEC, .. })) => return Ok(()),
            // Signals sent before the program runs are dropped.
            Some((_, Report::Stopped { signal, event: 0 })) => sys::cont(tid, signal)?,
            Some((_, Report::Stopped { .. })) => sys::cont(tid, 0)?,
            _ => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }
}

fn start(mut command: Command, mut from_parent: File, mut to_parent: File, others: RawFd) -> io::Result<Child> {
    let wait = move || {
        // The child closes its own copy of the parent's end. With that copy open the pipe would never end.
        // SAFETY: close takes a number, and nothing in the child owns that descriptor.
        unsafe { libc::close(others) };
        to_parent.write_all(&std::process::id().to_ne_bytes())?;
        let mut go = [0];
        from_parent.read_exact(&mut go)
    };
    // SAFETY: between fork and exec only close, getpid, write and read are called: the first on the child's copy of a descriptor that only
    // its parent uses, the others on descriptors that the closure owns.
    unsafe { command.pre_exec(wait) };
    command.spawn()
}
