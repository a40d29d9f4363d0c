//! Letting processes go.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::inject::PATIENCE;
use super::status::Status;
use super::sys;
use super::thread::Stop;
use super::{Tracer, arch, is_gone};
use crate::process::read_maps;
use crate::{Error, Pid, Result, Tid};

impl Tracer {
    pub(super) fn detach(&mut self, pid: Pid) -> Result<()> {
        self.finish_vforks(pid)?;
        let asked = self.stop_leavers(pid)?;
        let Ok(debuggee) = self.debuggee(pid) else { return Ok(()) };
        let space = debuggee.space;
        if !debuggee.silent && self.owners(space) > 1 {
            return self.fall_silent(pid, &asked);
        }
        let pids: Vec<Pid> =
            self.debuggees.iter().filter(|(_, debuggee)| debuggee.space == space).map(|(pid, _)| *pid).collect();
        // Whatever goes wrong with one thread, none stays stopped; the first error is told.
        let mut outcome = Ok(());
        let (stopped, stuck): (Vec<Tid>, Vec<Tid>) = self
            .threads_in(space)
            .into_iter()
            .partition(|tid| self.threads.get(tid).is_some_and(|thread| thread.stop().is_some()));
        for &tid in &stopped {
            outcome = outcome.and(unless_gone(self.put_right(tid)));
        }
        outcome = outcome.and(unless_gone(self.restore_code(pid)));
        // A thread that could not be brought out of a slot needs the storage still.
        if outcome.is_ok() && stuck.is_empty() {
            outcome = unless_gone(self.remove_answer(space));
        }
        if outcome.is_ok() && stuck.is_empty() && !self.is_answering(space) {
            outcome = unless_gone(self.unmap_storage(pid));
            outcome = outcome.and(unless_gone(self.unmap_answer(space)));
        }
        for tid in stopped {
            outcome = outcome.and(unless_gone(self.let_go(tid)));
        }
        stuck.into_iter().for_each(|tid| self.leave_later(tid));
        for pid in pids {
            self.events.retain(|event| event.pid != pid);
            self.reports.retain(|(tid, _)| self.threads.get(tid).is_none_or(|thread| thread.pid != pid));
            self.forget(pid);
        }
        outcome
    }

    /// A process of which the user wants to know nothing any more, in memory that another one needs its breakpoints in.
    fn fall_silent(&mut self, pid: Pid, asked: &BTreeSet<Tid>) -> Result<()> {
        self.debuggee_mut(pid)?.silent = true;
        self.events.retain(|event| event.pid != pid);
        for tid in self.threads_of(pid) {
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.wanted = thread.wanted.saturating_sub(u32::from(asked.contains(&tid)));
                thread.held = false;
                thread.pending.clear();
            }
            unless_gone(self.go_on(tid))?;
        }
        Ok(())
    }

    /// A thread that waits in `vfork` cannot be stopped, and its memory is in use by the child: lets the child come to an end of
    /// that, which is by nature near. Where it is not, the thread is let go later ([`Tracer::leave_later`]).
    fn finish_vforks(&mut self, pid: Pid) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let Ok(space) = self.debuggee(pid).map(|debuggee| debuggee.space) else { return Ok(()) };
            let waiting = |tid: &Tid| self.threads.get(tid).is_some_and(|thread| thread.vforking);
            let threads = self.threads_in(space);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !threads.iter().any(waiting) {
                return Ok(());
            }
            let held = threads.into_iter().filter(|tid| self.threads.get(tid).is_some_and(|thread| thread.held));
            for tid in held.collect::<Vec<Tid>>() {
                self.events.retain(|event| event.tid != tid);
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.pending.clear();
                }
                self.resume(tid)?;
            }
            if let Some((tid, report)) = self.next_report_within(left)? {
                self.handle(tid, report)?;
            }
        }
    }

    /// Stops all threads that go when the process does: its own, and those of others in its memory where no other owner is left there.
    /// Returns those that were not stopped before.
    fn stop_leavers(&mut self, pid: Pid) -> Result<BTreeSet<Tid>> {
        let mut asked = BTreeSet::new();
        let mut stuck = BTreeSet::new();
        let mut patience = PATIENCE;
        loop {
            let Ok(space) = self.debuggee(pid).map(|debuggee| debuggee.space) else { return Ok(asked) };
            let alone = self.owners(space) <= 1;
            let mut tids = if alone { self.threads_in(space) } else { self.threads_of(pid) };
            tids.retain(|tid| !stuck.contains(tid) && self.threads.get(tid).is_some_and(|t| t.stop().is_none()));
            // Threads are made while others are stopped, and a program that is executed has memory of its own.
            if tids.is_empty() {
                return Ok(asked);
            }
            for tid in &tids {
                if let Some(thread) = self.threads.get_mut(tid) {
                    thread.wanted += 1;
                    thread.call = arch::Call::of(*tid);
                    asked.insert(*tid);
                    let _ = sys::interrupt(*tid);
                }
            }
            for tid in tids {
                match self.await_stop_for(tid, patience) {
                    Err(Error::Uninterruptible(_)) => {
                        asked.remove(&tid);
                        stuck.insert(tid);
                        patience = Duration::ZERO;
                    }
                    Err(error) if !is_gone(&error) => return Err(error),
                    Err(_) => self.lose(tid),
                    Ok(()) => {}
                }
            }
        }
    }

    /// Forgets a thread that the kernel does not know any more, and of whose end nobody tells: it vanished when another one of its process
    /// executed a program.
    pub(super) fn lose(&mut self, tid: Tid) {
        if Status::read(tid).is_ok_and(|status| status.tracer == sys::own_tid()) {
            return;
        }
        let Some(pid) = self.threads.get(&tid).map(|thread| thread.pid) else { return };
        if tid == pid.leader() {
            return self.forget(pid);
        }
        self.threads.remove(&tid);
        if let Some(debuggee) = self.debuggees.get_mut(&pid) {
            debuggee.process.threads.remove(&tid);
        }
    }

    /// Puts a stopped thread where it would be without breakpoints.
    fn put_right(&mut self, tid: Tid) -> Result<()> {
        if let Some(step) = self.thread(tid)?.step
            && let Some((saved, _)) = step.probe
        {
            arch::write(tid, &saved)?;
            let thread = self.thread_mut(tid)?;
            (thread.step, thread.scratch) = (None, None);
        }
        self.leave_slot(tid)?;
        for info in std::mem::take(&mut self.thread_mut(tid)?.deferred) {
            self.send_anew(tid, info)?;
        }
        Ok(())
    }

    /// Takes all breakpoints out of the process' memory.
    fn restore_code(&mut self, pid: Pid) -> Result<()> {
        let maps = read_maps(pid)?;
        let space = self.space_of_mut(pid)?;
        let sites: Vec<u64> = space.sites.keys().copied().collect();
        space.disarm(&maps, &sites);
        Ok(())
    }

    /// Takes the storage of breakpoints out of the process' memory, by system calls of its own.
    fn unmap_storage(&mut self, pid: Pid) -> Result<()> {
        let space = self.space_of(pid)?;
        let (munmap, gate) = (arch::calls(space.arch).munmap, arch::gate(space.arch));
        // Only what is there: a child's memory may have been copied before some was mapped.
        let is_there = |at: u64| space.memory.read_array(at) == Some(gate);
        let gates = space.storages.iter().map(|storage| storage.arena.gate());
        let storage: Vec<(u64, u64)> =
            space.hidden().into_iter().zip(gates).filter(|(_, gate)| is_there(*gate)).map(|(range, _)| range).collect();
        // Not by a thread with a signal on its way, if there is another.
        let threads = self.stopped_threads(self.debuggee(pid)?.space);
        // The first arena holds the gate.
        for (start, end) in storage.into_iter().rev() {
            for &tid in &threads {
                match self.inject(tid, munmap, [start, end - start, 0, 0, 0, 0]) {
                    Err(error) if is_gone(&error) => continue,
                    // It stays mapped, and nothing leads there.
                    Err(Error::Confined(_)) => continue,
                    Err(error) => return Err(error),
                    Ok(_) => break,
                }
            }
        }
        Ok(())
    }

    fn let_go(&mut self, tid: Tid) -> Result<()> {
        self.requeue_signals(tid)?;
        match self.thread(tid)?.stop() {
            Some(Stop::Signal(info)) => sys::detach(tid, info.signal()),
            _ => sys::detach(tid, 0),
        }
    }
}

/// What has ended needs nothing any more.
fn unless_gone(result: Result<()>) -> Result<()> {
    match result {
        Err(error) if is_gone(&error) => Ok(()),
        other => other,
    }
}
