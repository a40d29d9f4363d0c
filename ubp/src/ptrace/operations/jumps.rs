//! Jumps come and go while no thread of the memory runs.

use super::super::Tracer;
use super::super::breakpoints::jump_memory::{outlives, provide};
use super::super::event_stop::note_key;
use super::super::stopping::Pinned;
use super::super::sys::is_gone;
use super::super::tracees::SpaceId;
use crate::process::read_maps;
use crate::{Address, BreakpointId, Error, InsertError, InsertReason, NoJump, Patch, Pid, Result, Spec, Tid};

/// The stopped threads of a memory.
pub(in crate::ptrace) struct Halted {
    pinned: Vec<Pinned>,
    /// A thread that can make system calls.
    worker: Tid,
}

impl Tracer {
    /// Stops all that runs in the memory of a process. `None`: one thread cannot be stopped.
    pub(in crate::ptrace) fn halt(&mut self, pid: Pid) -> Result<Option<Halted>> {
        let worker = match self.pin_any(pid) {
            Err(Error::Uninterruptible(_)) => return Ok(None),
            other => other?,
        };
        let mut halted = Halted { pinned: vec![worker], worker: worker.tid };
        loop {
            let Ok(debuggee) = self.tracees.debuggee(pid) else {
                self.go_on_all(halted)?;
                return Err(Error::NoSuchProcess(pid));
            };
            let runs = |tid: &Tid| {
                // A thread in vfork is in the kernel, and sees the changes when it comes back.
                self.tracees.threads.get(tid).is_some_and(|thread| thread.stop().is_none() && !thread.vforking)
            };
            let running = self.tracees.threads_in(debuggee.space).into_iter().find(runs);
            let Some(tid) = running else { return Ok(Some(halted)) };
            match self.pin(tid) {
                Ok(pinned) => halted.pinned.push(pinned),
                Err(Error::Uninterruptible(_)) => {
                    self.go_on_all(halted)?;
                    return Ok(None);
                }
                Err(error) if is_gone(&error) => self.tracees.remove_vanished(tid),
                Err(error) => {
                    self.go_on_all(halted)?;
                    return Err(error);
                }
            }
        }
    }

    /// Lets the threads continue.
    pub(in crate::ptrace) fn go_on_all(&mut self, halted: Halted) -> Result<()> {
        // In reverse order: a thread that is pinned twice continues at the end of its first use.
        halted.pinned.into_iter().rev().try_for_each(|pinned| self.release_pinned(pinned))
    }

    /// Makes breakpoint instructions of the jumps at, or over, `sites`, which are sorted. Returns whether no jump is there any more.
    pub(in crate::ptrace) fn clear_jumps(&mut self, pid: Pid, sites: &[u64], reason: NoJump) -> Result<bool> {
        let heads = self.tracees.space_of(pid)?.jumps_over(sites.iter().copied());
        self.clear_heads(pid, &heads, reason)
    }

    pub(super) fn clear_heads(&mut self, pid: Pid, heads: &[u64], reason: NoJump) -> Result<bool> {
        if heads.is_empty() {
            return Ok(true);
        }
        let before = self.tracees.debuggee(pid)?.space;
        let halted = match self.halt(pid) {
            // The process has ended, which is not reported yet.
            Err(error) if is_gone(&error) => None,
            other => match other? {
                None => return Ok(false),
                halted => halted,
            },
        };
        let failed = self.remove_jumps(pid, before, heads, reason);
        halted.map_or(Ok(()), |halted| self.go_on_all(halted))?;
        match failed {
            Some(site) => Err(Error::Memory { pid, address: Address(site) }),
            None => Ok(true),
        }
    }

    /// Makes breakpoint instructions of jumps while nothing runs in their memory. Returns the first whose memory cannot be accessed.
    fn remove_jumps(&mut self, pid: Pid, space: SpaceId, heads: &[u64], reason: NoJump) -> Option<u64> {
        // The process may have executed another program meanwhile, or have ended.
        let space = self.tracees.spaces.get_mut(&space)?;
        space.remove_jumps(&read_maps(pid).unwrap_or_default(), heads, reason)
    }

    /// Makes breakpoint instructions of jumps that are not wanted any more. One whose memory cannot be accessed waits for the next event.
    pub(in crate::ptrace) fn clear_unwanted_jumps(&mut self) -> Result<()> {
        let mut waiting = Vec::new();
        let mut outcome = Ok(());
        while outcome.is_ok() {
            let Some((id, site)) = self.tracees.unwanted_jumps.pop() else { break };
            match self.clear_unwanted_jump(id, site) {
                Err(error) if is_gone(&error) => (),
                Err(Error::Memory { .. }) => waiting.push((id, site)),
                other => outcome = other,
            }
        }
        self.tracees.unwanted_jumps.extend(waiting);
        outcome
    }

    fn clear_unwanted_jump(&mut self, id: SpaceId, site: u64) -> Result<()> {
        let Some(&pid) = self.tracees.processes_in(id).first() else { return Ok(()) };
        let jump = self.tracees.spaces.get(&id).and_then(|space| space.jumps.get(site));
        let members: Vec<u64> = jump.into_iter().flat_map(|jump| jump.sites()).collect();
        self.clear_heads(pid, &[site], NoJump::Entered)?;
        // Breakpoints may have removed themselves.
        let Some(space) = self.tracees.spaces.get_mut(&id) else { return Ok(()) };
        let (unused, used): (Vec<u64>, Vec<u64>) = members.into_iter().partition(|site| space.is_unused(*site));
        unused.into_iter().for_each(|site| space.disarm_one(site));
        // Another jump may begin where threads came in.
        self.place_jumps(pid, &used)
    }

    /// Puts jumps at those of `sites`, which are sorted, that can have one.
    pub(in crate::ptrace) fn place_jumps(&mut self, pid: Pid, sites: &[u64]) -> Result<()> {
        let space = self.tracees.space_of_mut(pid)?;
        let (beyond, sites): (Vec<u64>, Vec<u64>) = sites.iter().partition(|site| space.asks_for_more(**site));
        space.refuse_jumps(&beyond, NoJump::OnlyCounts);
        let sites = sites.as_slice();
        if sites.is_empty() {
            return Ok(());
        }
        let before = self.tracees.debuggee(pid)?.space;
        let is_silent = |other: &Pid| self.tracees.debuggee(*other).is_ok_and(|debuggee| debuggee.silent);
        if !self.tracees.options.follow_forks || self.tracees.processes_in(before).iter().any(is_silent) {
            self.tracees.space_of_mut(pid)?.refuse_jumps(sites, NoJump::Unfollowed);
            return Ok(());
        }
        let halted = match self.halt(pid) {
            Err(error) if is_gone(&error) => return Ok(()),
            other => other?,
        };
        let Some(halted) = halted else {
            self.tracees.space_of_mut(pid)?.refuse_jumps(sites, NoJump::Unstoppable);
            return Ok(());
        };
        let placed = self.place_jumps_by(pid, before, halted.worker, sites);
        let continued = self.go_on_all(halted);
        placed.and(continued)
    }

    fn place_jumps_by(&mut self, pid: Pid, before: SpaceId, worker: Tid, sites: &[u64]) -> Result<()> {
        if self.tracees.debuggee(pid)?.space != before {
            return Ok(());
        }
        let reason = provide(&mut self.tracees, &mut self.reports, worker, pid, sites)?;
        for tid in self.tracees.stopped_threads(before) {
            note_key(&mut self.tracees, tid)?;
        }
        let outlives = outlives(&self.tracees, before);
        let maps = read_maps(pid)?;
        let space = self.tracees.space_of_mut(pid)?;
        match reason {
            Some(reason) => space.refuse_jumps(sites, reason),
            None => space.place_jumps(&maps, sites, outlives),
        }
        Ok(())
    }

    /// Puts jumps at the sites of breakpoints that were inserted, and at sites that have lost theirs for that. Those that ask for a jump and have none are removed and refused.
    pub(in crate::ptrace) fn jump_where_asked(
        &mut self,
        pid: Pid,
        specs: &[Spec],
        lost: &[u64],
        answers: &mut [Result<BreakpointId, InsertError>],
    ) -> Result<()> {
        let inserted = specs.iter().zip(answers.iter()).filter(|(_, answer)| answer.is_ok());
        let may = inserted.filter(|(spec, _)| spec.no_jump().is_none());
        let mut sites: Vec<u64> = may.map(|(spec, _)| spec.address.0).chain(lost.iter().copied()).collect();
        sites.sort_unstable();
        sites.dedup();
        let space = self.tracees.space_of(pid)?;
        sites.retain(|site| !space.is_jumped(*site));
        self.place_jumps(pid, &sites)?;
        let space = self.tracees.space_of(pid)?;
        let mut removed = Vec::new();
        for (spec, answer) in specs.iter().zip(answers.iter_mut()).filter(|(spec, _)| spec.patch == Patch::Jump) {
            let Ok(id) = *answer else { continue };
            let breakpoint = space.breakpoints.get(id.0 as usize).and_then(Option::as_ref);
            if let Some(reason) = breakpoint.and_then(|breakpoint| breakpoint.no_jump) {
                removed.push(id);
                *answer = Err(InsertError { address: spec.address, reason: InsertReason::NoJump(reason) });
            }
        }
        if removed.is_empty() { Ok(()) } else { self.remove_breakpoints(pid, &removed) }
    }
}
