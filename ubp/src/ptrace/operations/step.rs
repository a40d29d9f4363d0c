//! The user lets threads run for one instruction, or to an address.

use super::super::Tracer;
use super::super::goal::release_goal;
use super::super::thread::Goal;
use crate::{Address, Error, InsertError, InsertReason, Result, Signal, Tid};

impl Tracer {
    /// Lets a held thread execute one instruction; it gets the signal that it is stopped by.
    pub(in crate::ptrace) fn step_thread(&mut self, tid: Tid) -> Result<()> {
        self.resume_for(tid, Goal::Step(None), |tracer| tracer.resume_thread(tid))
    }

    /// Lets a held thread execute one instruction, with `signal` in place of the one that it is stopped by.
    pub(in crate::ptrace) fn step_thread_with(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        self.resume_for(tid, Goal::Step(None), |tracer| tracer.resume_thread_with(tid, signal))
    }

    /// Lets a held thread run to `address`, in the frame with this stack pointer if there is one.
    pub(in crate::ptrace) fn run_thread_to(&mut self, tid: Tid, address: Address, frame: Option<u64>) -> Result<()> {
        let thread = self.tracees.thread(tid)?;
        if !thread.is_held() {
            return Err(Error::NotHeld(tid));
        }
        let (pid, site) = (thread.pid, address.0);
        if !self.tracees.space_of(pid)?.sites.contains_key(&site) {
            self.seize_sharers(pid)?;
        }
        let refused = self.insert_all(pid, &[site])?.first().map(|(_, reason)| *reason);
        let space = self.tracees.space_of_mut(pid)?;
        let lacking = (!space.sites.contains_key(&site)).then_some(InsertReason::NotMapped);
        if let Some(reason) = refused.or(lacking) {
            return Err(Error::Insert(InsertError { address, reason }));
        }
        space.add_target(site);
        let goal = Goal::Site { site, frame };
        let resumed = self.resume_for(tid, goal, |tracer| tracer.resume_thread(tid));
        if resumed.is_err() {
            release_goal(&mut self.tracees, pid, goal);
        }
        resumed
    }

    /// Resumes a held thread with another goal.
    fn resume_for(&mut self, tid: Tid, goal: Goal, resume: impl FnOnce(&mut Tracer) -> Result<()>) -> Result<()> {
        let thread = self.tracees.thread_mut(tid)?;
        if !thread.is_held() {
            return Err(Error::NotHeld(tid));
        }
        let (pid, last) = (thread.pid, std::mem::replace(&mut thread.goal, goal));
        let resumed = resume(self);
        match self.tracees.threads.get_mut(&tid) {
            Some(thread) if resumed.is_err() => thread.goal = last,
            _ => release_goal(&mut self.tracees, pid, last),
        }
        resumed
    }
}
