//! Processes that share a debuggee's memory without being threads of it: children of vfork(2) and posix_spawn(3) until they
//! execute a program, and processes that clone(2) makes with `CLONE_VM` alone.
//!
//! A breakpoint stands for all that runs in the memory, so the tracer traces all of it before it writes the first breakpoint.
//! Processes that the user did not ask for are traced in silence.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::super::Tracer;
use super::super::status::{Status, layout};
use super::super::sys::{self, is_gone};
use super::super::thread::Thread;
use super::super::tracees::{Debuggee, Tracees};
use super::seize::{seize_all, unseize};
use crate::descriptors::open_by_reserve;
use crate::process::{read_proc, read_threads};
use crate::{Error, Pid, Process, Result, Stdio, Tid};

/// `KCMP_VM` (linux/kcmp.h).
const KCMP_VM: i32 = 1;
/// How long a process may share the memory and not be traceable: it is about to execute another program.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two looks at such a process.
const PAUSE: Duration = Duration::from_micros(200);

impl Tracer {
    /// Traces all that runs in the memory of `pid` and is not traced yet.
    pub(in crate::ptrace) fn seize_sharers(&mut self, pid: Pid) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            seize_untraced_threads(&mut self.tracees, pid);
            let mut others = sharers(pid);
            others.retain(|other| !self.tracees.debuggees.contains_key(other));
            let mut refused = None;
            for other in others {
                match seize_all(other) {
                    Ok(tids) if shares(pid, other) => add_sharer(&mut self.tracees, pid, other, tids)?,
                    // It has executed another program meanwhile.
                    Ok(tids) => tids.into_iter().for_each(|tid| unseize(&mut self.reports, tid)),
                    Err((error, tids)) => {
                        tids.into_iter().for_each(|tid| unseize(&mut self.reports, tid));
                        if !is_gone(&error) && shares(pid, other) {
                            refused = Some(Error::SharedMemory { pid, other, source: Box::new(error) });
                        }
                    }
                }
            }
            match refused {
                None if sharers(pid).iter().all(|other| self.tracees.debuggees.contains_key(other)) => return Ok(()),
                Some(error) if Instant::now() > deadline => return Err(error),
                _ => std::thread::sleep(PAUSE),
            }
        }
    }
}

/// Seizes threads of the process itself that were made with `CLONE_UNTRACED`.
fn seize_untraced_threads(tracees: &mut Tracees, pid: Pid) {
    // A process that ends has no threads any more, and the kernel reports its end soon.
    let threads = read_threads(pid).unwrap_or_default();
    let unknown: Vec<Tid> = threads.into_iter().filter(|tid| !tracees.threads.contains_key(tid)).collect();
    for tid in unknown {
        // A thread that a traced one made is traced already and reports by itself.
        let is_untraced = Status::read(tid).is_ok_and(|status| status.tracer == 0);
        if is_untraced && sys::seize(tid, tracees.ptrace_options(pid)).is_ok() {
            tracees.add_thread(Thread::new(tid, pid));
        }
    }
}

fn add_sharer(tracees: &mut Tracees, pid: Pid, other: Pid, tids: BTreeSet<Tid>) -> Result<()> {
    let debuggee = tracees.debuggee(pid)?;
    let (space, loader, exit_kill) = (debuggee.space, debuggee.loader.clone(), debuggee.exit_kill);
    let process = Process { pid: other, threads: Default::default(), ..debuggee.process.clone() };
    tracees.share_space(space);
    let debuggee = Debuggee::new(process, space, Stdio::default(), exit_kill);
    tracees.debuggees.insert(other, Debuggee { loader, silent: true, ..debuggee });
    for tid in tids {
        tracees.add_thread(Thread::new(tid, other));
    }
    // A thread that waits uninterruptibly while another process has the memory waits for that process.
    for tid in tracees.threads_in(space) {
        if let Some(thread) = tracees.threads.get_mut(&tid).filter(|thread| thread.stop().is_none()) {
            thread.vforking |= Status::read(tid).is_ok_and(|status| status.state == b'D');
        }
    }
    Ok(())
}

/// The other processes that run in the address space of `pid`, as far as the tracer can see them. A process that a traced thread
/// made is left out: its maker is about to report it.
fn sharers(pid: Pid) -> Vec<Pid> {
    let Ok(processes) = open_by_reserve(|| std::fs::read_dir("/proc")) else { return Vec::new() };
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok().map(Pid));
    let unreported = |other: &Pid| Status::read(other.leader()).is_ok_and(|status| status.tracer != sys::own_tid());
    numbers.filter(|&other| other != pid && shares(pid, other) && unreported(&other)).collect()
}

/// Whether two processes run in one address space.
fn shares(pid: Pid, other: Pid) -> bool {
    match sys::kcmp(pid, other, KCMP_VM) {
        // Processes without memory, zombies and the kernel's own threads, compare as equal and share nothing.
        Ok(order) => order == 0 && has_memory(other),
        // There is no such process, or it is another user's.
        Err(libc::ESRCH) => false,
        // The kernel has no kcmp(2), or a filter forbids it. A child of vfork(2) has its parent's layout, and one of the two
        // waits.
        Err(_) => {
            let waits = |pid: Pid| {
                let threads = read_threads(pid).unwrap_or_default();
                threads.into_iter().any(|tid| Status::read(tid).is_ok_and(|status| status.state == b'D'))
            };
            let parent = |pid: Pid| Status::read(pid.leader()).map_or(0, |status| status.parent);
            let related = parent(other) == pid.0 && waits(pid) || parent(pid) == other.0 && waits(other);
            related && layout(pid).is_some_and(|own| layout(other) == Some(own))
        }
    }
}

/// Whether a process has memory (proc_pid_statm(5)).
fn has_memory(pid: Pid) -> bool {
    read_proc(pid, "statm").is_ok_and(|text| !text.starts_with(b"0 "))
}
