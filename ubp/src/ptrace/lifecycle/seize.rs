//! `PTRACE_SEIZE` of all threads of a process.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::super::reports::Reports;
use super::super::status::Status;
use super::super::sys::{self, PATIENCE, Report, is_gone};
use super::super::wait::{find_report, take_end};
use crate::process::read_threads;
use crate::{Error, Pid, Result, Tid};

/// The time between two looks for threads that ended while others are seized.
const LOOK: Duration = Duration::from_millis(10);
/// The time between two looks at a thread that is about to stop.
const PAUSE: Duration = Duration::from_micros(100);

/// Seizes all threads of a process. An error comes with the threads that were seized before.
///
/// Another thread of the tracer takes the ends of those that die meanwhile: a thread that executes a program waits for these
/// ends, and `PTRACE_SEIZE` waits for that thread (`cred_guard_mutex`; `de_thread` in fs/exec.c).
pub(super) fn seize_all(pid: Pid) -> Result<BTreeSet<Tid>, (Error, BTreeSet<Tid>)> {
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

/// Detaches a thread that an attempt seized which failed.
pub(super) fn unseize(reports: &mut Reports, tid: Tid) {
    if sys::interrupt(tid).is_err() {
        return;
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        match find_report(tid) {
            Ok(Some(Report::Stopped { signal, event })) => {
                let _ = sys::detach(tid, if event == 0 && signal & 0x80 == 0 { signal } else { 0 });
                return;
            }
            Ok(None) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Ok(None) => return reports.departing.add_unseen(tid),
            _ => return,
        }
    }
}

/// Seizes threads and notes them. Threads are made meanwhile, so it looks until all are traced. While threads end, the kernel's
/// list of them can be incomplete (`first_tid` in fs/proc/base.c), so the last list has to be as long as the number of threads.
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
            match sys::seize(tid, sys::OPTIONS) {
                Ok(()) => more |= note(tid),
                Err(error) if is_gone(&error) => {}
                Err(_) => {
                    let tracer = Status::read(tid).map_or(0, |status| status.tracer);
                    if tracer == sys::own_tid() {
                        // A traced thread made it: it stops and reports by itself.
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

/// Takes the ends of the process' threads, except that of its first thread, until `done`. Returns the threads that ended. The kernel itself
/// seizes the new threads of seized ones, so `seized` does not name all threads that end.
fn reap(pid: Pid, seized: &Mutex<BTreeSet<Tid>>, done: &AtomicBool) -> BTreeSet<Tid> {
    let mut ended = BTreeSet::new();
    while !done.load(Ordering::Acquire) {
        std::thread::park_timeout(LOOK);
        let mut tids = seized.lock().map(|tids| tids.clone()).unwrap_or_default();
        tids.extend(read_threads(pid).unwrap_or_default());
        let others = tids.into_iter().filter(|tid| *tid != pid.leader() && !ended.contains(tid));
        let gone: Vec<Tid> = others.filter(|tid| take_end(*tid)).collect();
        ended.extend(gone);
    }
    ended
}
