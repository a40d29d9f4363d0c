//! Processes that share a debuggee's memory without being threads of it: children of `vfork` and `posix_spawn` until they execute
//! a program, and what clone(2) makes with `CLONE_VM` alone.
//!
//! A breakpoint is one for all that run in the memory, so all of them are traced before the first one is written. Those that nobody
//! asked for are traced in silence.

use std::time::{Duration, Instant};

use super::status::{Status, layout};
use super::sys;
use super::thread::Thread;
use super::{Debuggee, Tracer, is_gone};
use crate::process::{read_proc, read_threads};
use crate::{Error, Pid, Result, Stdio, Tid};

/// `KCMP_VM` (linux/kcmp.h).
const KCMP_VM: i32 = 1;
/// So long a process may share the memory and not let itself be traced: on its way to another program, which is by nature short.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks at such a process.
const PAUSE: Duration = Duration::from_micros(200);

impl Tracer {
    /// Traces all that runs in the memory of `pid` and is not traced yet.
    pub(super) fn seize_sharers(&mut self, pid: Pid) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.seize_unseen_threads(pid)?;
            let mut others = sharers(pid);
            others.retain(|other| !self.debuggees.contains_key(other));
            let mut refused = None;
            for other in others {
                match self.seize_all(other) {
                    Ok(tids) if shares(pid, other) => self.add_sharer(pid, other, tids)?,
                    // It executed another program meanwhile.
                    Ok(tids) => tids.into_iter().for_each(|tid| self.release(tid)),
                    Err((error, tids)) => {
                        tids.into_iter().for_each(|tid| self.release(tid));
                        if !is_gone(&error) && shares(pid, other) {
                            refused = Some(Error::SharedMemory { pid, other, source: Box::new(error) });
                        }
                    }
                }
            }
            match refused {
                None if sharers(pid).iter().all(|other| self.debuggees.contains_key(other)) => return Ok(()),
                Some(error) if Instant::now() > deadline => return Err(error),
                _ => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Threads of the process itself that were made with `CLONE_UNTRACED`.
    fn seize_unseen_threads(&mut self, pid: Pid) -> Result<()> {
        // One that ends has no threads any more, which is told soon.
        let unseen = read_threads(pid).unwrap_or_default().into_iter().filter(|tid| !self.threads.contains_key(tid));
        for tid in unseen.collect::<Vec<Tid>>() {
            // What a traced thread made is traced already and tells by itself.
            if Status::read(tid).is_ok_and(|status| status.tracer == 0) && sys::seize(tid, self.wishes(pid)).is_ok() {
                self.add_thread(Thread::new(tid, pid));
            }
        }
        Ok(())
    }

    fn add_sharer(&mut self, pid: Pid, other: Pid, tids: impl IntoIterator<Item = Tid>) -> Result<()> {
        let debuggee = self.debuggee(pid)?;
        let (space, loader, kill) = (debuggee.space, debuggee.loader.clone(), debuggee.kill);
        let process = crate::Process { pid: other, threads: Default::default(), ..debuggee.process.clone() };
        if let Some(space) = self.spaces.get_mut(&space) {
            space.users += 1;
        }
        let debuggee = Debuggee::new(process, space, Stdio::default(), kill);
        self.debuggees.insert(other, Debuggee { loader, silent: true, ..debuggee });
        for tid in tids {
            self.add_thread(Thread::new(tid, other));
        }
        // Whoever waits uninterruptibly while another process has the memory waits for that one.
        for tid in self.threads_in(space) {
            if let Some(thread) = self.threads.get_mut(&tid).filter(|thread| thread.stop().is_none()) {
                thread.vforking |= Status::read(tid).is_ok_and(|status| status.state == b'D');
            }
        }
        Ok(())
    }

    /// Lets those go that are traced for their memory only, where no process is left that the user knows.
    pub(super) fn release_orphans(&mut self, space: super::SpaceId) -> Result<()> {
        if self.owners(space) > 0 {
            return Ok(());
        }
        match self.debuggees.iter().find(|(_, debuggee)| debuggee.space == space).map(|(pid, _)| *pid) {
            Some(pid) => self.detach(pid),
            None => Ok(()),
        }
    }

    /// The processes in an address space of which the user knows.
    pub(super) fn owners(&self, space: super::SpaceId) -> usize {
        self.debuggees.values().filter(|debuggee| debuggee.space == space && !debuggee.silent).count()
    }

    /// The threads that run in an address space.
    pub(super) fn threads_in(&self, space: super::SpaceId) -> Vec<Tid> {
        let inside = |thread: &&Thread| self.debuggees.get(&thread.pid).is_some_and(|d| d.space == space);
        self.threads.values().filter(inside).map(|thread| thread.tid).collect()
    }
}

/// The other processes that run in the address space of `pid`, as far as this process can see them. Those that are about to be told of by
/// their maker are left out: a traced thread made them.
fn sharers(pid: Pid) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok().map(Pid));
    let untold = |other: &Pid| Status::read(other.leader()).is_ok_and(|status| status.tracer != sys::own_tid());
    numbers.filter(|&other| other != pid && shares(pid, other) && untold(&other)).collect()
}

/// Whether two processes run in one address space.
fn shares(pid: Pid, other: Pid) -> bool {
    match sys::kcmp(pid, other, KCMP_VM) {
        // Those without memory, zombies and the kernel's own threads, have none in common.
        Ok(order) => order == 0 && has_memory(other),
        // No such process, or one of another user.
        Err(libc::ESRCH) => false,
        // The kernel has no kcmp(2), or a filter forbids it: a child made by vfork has its parent's layout, and one of the two waits.
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
