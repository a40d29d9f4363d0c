//! Letting processes go.

use super::sys;
use super::thread::Stop;
use super::{Tracer, arch, is_gone};
use crate::process::read_maps;
use crate::{Pid, Result, Tid};

impl Tracer {
    pub(super) fn detach(&mut self, pid: Pid) -> Result<()> {
        let space = self.debuggee(pid)?.space;
        self.finish_vforks(pid)?;
        if self.debuggees.get(&pid).map(|debuggee| debuggee.space) != Some(space) {
            // It executed another program meanwhile, or ended.
            return if self.debuggees.contains_key(&pid) { self.detach(pid) } else { Ok(()) };
        }
        self.stop_all(pid)?;
        // Whatever goes wrong with one thread, none stays stopped; the first error is told.
        let mut outcome = Ok(());
        for tid in self.threads_of(pid) {
            outcome = outcome.and(unless_gone(self.put_right(tid)));
        }
        // Not the one from before: it may have executed another program until it was stopped.
        let alone = self.space_of(pid).is_ok_and(|space| space.users == 1);
        if alone {
            outcome = outcome.and(unless_gone(self.restore_code(pid)));
            // A thread that could not be brought out of a slot needs it still.
            if outcome.is_ok() {
                outcome = unless_gone(self.unmap_storage(pid));
            }
        }
        for tid in self.threads_of(pid) {
            outcome = outcome.and(unless_gone(self.let_go(tid)));
        }
        self.events.retain(|event| event.pid != pid);
        self.reports.retain(|(tid, _)| self.threads.get(tid).is_none_or(|thread| thread.pid != pid));
        self.forget(pid);
        outcome
    }

    /// A thread that waits in `vfork` cannot be stopped, and its memory is in use by the child: lets the child come to an end of
    /// that, which is by nature near.
    fn finish_vforks(&mut self, pid: Pid) -> Result<()> {
        loop {
            let waiting = |tid: &Tid| self.threads.get(tid).is_some_and(|thread| thread.vforking);
            if !self.threads_of(pid).iter().any(waiting) {
                return Ok(());
            }
            let Ok(space) = self.debuggee(pid).map(|debuggee| debuggee.space) else { return Ok(()) };
            let held: Vec<Tid> = self
                .threads
                .values()
                .filter(|thread| thread.held && self.debuggees.get(&thread.pid).is_some_and(|d| d.space == space))
                .map(|thread| thread.tid)
                .collect();
            for tid in held {
                self.events.retain(|event| event.tid != tid);
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.pending.clear();
                }
                self.resume(tid)?;
            }
            match self.next_report_blocking()? {
                Some((tid, report)) => self.handle(tid, report)?,
                None => return Ok(()),
            }
        }
    }

    /// Stops all threads. Those that end on the way are forgotten, the process with them.
    fn stop_all(&mut self, pid: Pid) -> Result<()> {
        let tids = self.threads_of(pid);
        for &tid in &tids {
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.wanted += 1;
                if thread.stop().is_none() {
                    thread.call = arch::Call::of(tid);
                    let _ = sys::interrupt(tid);
                }
            }
        }
        for tid in tids {
            match self.await_stop(tid) {
                Err(error) if !is_gone(&error) => return Err(error),
                _ => {}
            }
        }
        // Threads made while the others were stopped.
        let running = |tid: &Tid| self.threads.get(tid).is_some_and(|thread| thread.stop().is_none());
        if self.threads_of(pid).iter().any(running) { self.stop_all(pid) } else { Ok(()) }
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
        let space = self.space_of_mut(pid)?;
        let munmap = arch::calls(space.arch).munmap;
        let storage = space.hidden();
        let mut threads: Vec<Tid> = self.threads_of(pid);
        // Not by a thread with a signal on its way, if there is another.
        threads.sort_by_key(|tid| match self.threads.get(tid).and_then(|thread| thread.stop()) {
            Some(Stop::Event | Stop::Trap | Stop::Syscall) => 0,
            Some(Stop::Group | Stop::InSyscall) => 1,
            _ => 2,
        });
        // The first arena holds the gate.
        for (start, end) in storage.into_iter().rev() {
            for &tid in &threads {
                match self.inject(tid, munmap, [start, end - start, 0, 0, 0, 0]) {
                    Err(error) if is_gone(&error) => continue,
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
