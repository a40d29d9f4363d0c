//! Taking hold of running processes.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Between two looks for threads that ended while others are seized.
const LOOK: Duration = Duration::from_millis(10);
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

    /// Seizes all threads, while another thread of this process takes the ends of those that die meanwhile: a thread that executes a
    /// program waits for these ends, and `PTRACE_SEIZE` waits for it (`cred_guard_mutex`; `de_thread` in fs/exec.c).
    pub(super) fn seize_all(&self, pid: Pid) -> Result<BTreeSet<Tid>, (Error, BTreeSet<Tid>)> {
        let (seized, done) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
        let (outcome, ended) = std::thread::scope(|scope| {
            let reaper = scope.spawn(|| reap(pid, &seized, &done));
            let outcome = seize_each(pid, &seized);
            done.store(true, Ordering::Release);
            reaper.thread().unpark();
            (outcome, reaper.join().unwrap_or_default())
        });
        let tids = seized.into_inner().unwrap_or_default();
        let tids: BTreeSet<Tid> = tids.difference(&ended).copied().collect();
        match outcome {
            Ok(()) if tids.is_empty() => Err((Error::NoSuchProcess(pid), tids)),
            Ok(()) => Ok(tids),
            Err(error) => Err((error, tids)),
        }
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

/// Seizes threads, and notes them; new ones are made while it looks, until none is left that is not traced. While threads end, the kernel's
/// list of them can leave some out (`first_tid` in fs/proc/base.c), so that the last list has to be as long as there are threads.
fn seize_each(pid: Pid, seized: &Mutex<BTreeSet<Tid>>) -> Result<()> {
    let note = |tid| seized.lock().is_ok_and(|mut seized| seized.insert(tid));
    let deadline = Instant::now() + PATIENCE;
    let count = || Status::read(pid.leader()).map_or(0, |status| status.threads);
    loop {
        let (before, tids) = (count(), read_threads(pid)?);
        let is_whole = [before, count()] == [tids.len(); 2] || Instant::now() > deadline;
        let mut more = false;
        for tid in tids {
            if seized.lock().is_ok_and(|seized| seized.contains(&tid)) {
                continue;
            }
            match sys::seize(tid, OPTIONS) {
                Ok(()) => more |= note(tid),
                Err(error) if is_gone(&error) => {}
                Err(_) => {
                    let tracer = Status::read(tid).map_or(0, |status| status.tracer);
                    if tracer == sys::own_tid() {
                        // Made by a thread that is traced: it will stop and tell.
                        more |= note(tid);
                    } else if tracer != 0 {
                        return Err(Error::AlreadyTraced { pid, tracer: Pid(tracer) });
                    } else if Status::read(tid).is_ok_and(|status| !matches!(status.state, b'Z' | b'X')) {
                        return Err(Error::Permission(pid));
                    }
                }
            }
        }
        if !more && is_whole {
            return Ok(());
        }
    }
}

/// Takes the ends of the process' threads, but for the first one, until it is told to stop. The kernel seizes new threads of seized ones by
/// itself, so that threads end here which `seized` does not name. Returns those that ended.
fn reap(pid: Pid, seized: &Mutex<BTreeSet<Tid>>, done: &AtomicBool) -> BTreeSet<Tid> {
    let mut ended = BTreeSet::new();
    while !done.load(Ordering::Acquire) {
        std::thread::park_timeout(LOOK);
        let mut tids = seized.lock().map(|tids| tids.clone()).unwrap_or_default();
        tids.extend(read_threads(pid).unwrap_or_default());
        let others = tids.into_iter().filter(|tid| *tid != pid.leader() && !ended.contains(tid));
        let gone: Vec<Tid> = others.filter(|tid| sys::take_end(*tid)).collect();
        ended.extend(gone);
    }
    ended
}
