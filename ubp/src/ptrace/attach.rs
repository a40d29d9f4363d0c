//! Taking hold of running processes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use libc::c_int;

use super::inject::PATIENCE;
use super::space::Space;
use super::status::Status;
use super::sys;
use super::thread::Thread;
use super::{Debuggee, Tracer, is_gone};
use crate::process::{read_process, read_threads};
use crate::{Error, Pid, Result, Stdio, Tid};

/// What is wanted of every thread; what it makes inherits it.
pub(super) const OPTIONS: c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEVFORKDONE
    | libc::PTRACE_O_TRACEEXEC;
pub(super) const EXIT_KILL: c_int = libc::PTRACE_O_EXITKILL;

/// Between two looks at a thread that is about to stop.
const PAUSE: Duration = Duration::from_micros(100);

impl Tracer {
    pub(super) fn attach(&mut self, pid: Pid) -> Result<Pid> {
        let process = read_process(pid)?;
        if self.debuggees.contains_key(&pid) {
            return Err(Error::AlreadyTraced { pid, tracer: Pid(sys::own_pid()) });
        }
        let status = Status::read(pid.leader()).map_err(|_| Error::NoSuchProcess(pid))?;
        if status.process != pid.0 {
            return Err(Error::NoSuchProcess(pid));
        }
        if status.process == sys::own_pid() {
            return Err(Error::Tracer(pid));
        }
        if status.tracer != 0 && !self.is_leaving(pid) {
            return Err(Error::AlreadyTraced { pid, tracer: Pid(status.tracer) });
        }
        let space = Space::new(pid, process.arch)?;
        let seized = self.seize_all(pid);
        let tids = match seized {
            Ok(tids) => tids,
            Err((error, tids)) => {
                tids.into_iter().for_each(|tid| self.release(tid));
                return Err(error);
            }
        };
        let space = self.add_space(space);
        self.debuggees.insert(pid, Debuggee::new(process, space, Stdio::default(), false));
        for tid in tids {
            self.stay(tid);
            self.add_thread(Thread::new(tid, pid));
        }
        let outcome = self.seize_sharers(pid).and_then(|()| self.take_over(pid));
        match outcome.and_then(|()| self.watch_loader(pid)) {
            // Where no storage can be mapped nothing can be inserted either, and that will tell.
            Ok(()) | Err(Error::NoRoom { .. } | Error::Confined(_)) => Ok(pid),
            Err(error) => {
                self.detach(pid)?;
                Err(error)
            }
        }
    }

    /// Seizes all threads; new ones are made while it looks, until none is left that is not traced.
    pub(super) fn seize_all(&self, pid: Pid) -> Result<BTreeSet<Tid>, (Error, BTreeSet<Tid>)> {
        let mut seized = BTreeSet::new();
        loop {
            let before = seized.len();
            let tids = match read_threads(pid) {
                Ok(tids) => tids,
                Err(error) => return Err((error, seized)),
            };
            for tid in tids {
                if seized.contains(&tid) {
                    continue;
                }
                match sys::seize(tid, OPTIONS) {
                    Ok(()) => drop(seized.insert(tid)),
                    Err(error) if is_gone(&error) => {}
                    Err(_) => {
                        let tracer = Status::read(tid).map_or(0, |status| status.tracer);
                        if tracer == sys::own_tid() {
                            // Made by a thread that is traced: it will stop and tell.
                            seized.insert(tid);
                        } else if tracer != 0 {
                            return Err((Error::AlreadyTraced { pid, tracer: Pid(tracer) }, seized));
                        } else if Status::read(tid).is_ok_and(|status| !matches!(status.state, b'Z' | b'X')) {
                            return Err((Error::Permission(pid), seized));
                        }
                    }
                }
            }
            if seized.len() == before {
                break;
            }
        }
        if seized.is_empty() { Err((Error::NoSuchProcess(pid), seized)) } else { Ok(seized) }
    }

    /// Lets a thread go that was seized by an attempt that failed.
    pub(super) fn release(&mut self, tid: Tid) {
        if sys::interrupt(tid).is_err() {
            return;
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            match sys::wait_for(tid, false) {
                Ok(Some(sys::Report::Stopped { signal, event })) => {
                    let _ = sys::detach(tid, if event == 0 && signal & 0x80 == 0 { signal } else { 0 });
                    return;
                }
                Ok(None) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                Ok(None) => return self.leave_unseen(tid),
                _ => return,
            }
        }
    }
}
